"""The pages of `weal serve`: one router for each, with the values that its templates show.

campaigns      all campaigns, a new campaign from a table, the person, log out
labelling      the page Bench: labels typed for leased rows
worksheets     the rows of a person as a file: download, fill in, upload
batch_form     the form "Ask for rows"
row_form       the form of a row
row_labels     the labels of a row, and the action that Undo reverts
label_actions  changes of a displayed label
print_sheet    the printed worksheet
watch          the page Watch: learning curve, advice, labels to check
quantity_view  the quantity that Watch and its pictures show
pictures       pictures of a campaign, also as SVG, PNG and CSV
explore        the page Explore: candidates with predictions, and a page for each row
effects        partial dependence on one input, and a map of two
options        the page Settings: settings, more candidates, files to download
tokens         the page Tokens: who may do what
session        the person's name, log out
help           the help of each page
progress       server-sent events, the progress of a job, the page Jobs
"""
