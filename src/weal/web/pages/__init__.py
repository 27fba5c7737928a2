"""The pages of `weal serve`: one router for each, with the values that its templates show.

campaigns   all campaigns, a new campaign from a table, the person, log out
labelling   the page Bench: labels typed for leased rows, and worksheets
watch       the page Watch: learning curve, advice, labels to check
explore     the page Explore: candidates with predictions, and a page for each row
effects     partial dependence on one input, and a map of two
options     the page Settings: settings, more candidates, files to download
progress    server-sent events, the progress of a job, the page Jobs
"""
