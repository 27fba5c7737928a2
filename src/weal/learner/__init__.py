"""The learner: `state = apply(state, event)`, and the choice of the next candidate.

events              everything that can happen to a learner
labels              labels as they were told, and checks of new ones
candidates          the candidate protocol, samples of large pools, costs
memory_candidates   candidates in memory: arrays and frames
sharded_candidates  candidates in shards of files
state               the frozen state of a learner
transitions         `apply(state, event)`
config              settings and acquisition functions, checked
history             queries and labels as plain rows
posterior_cache     model and posterior of the pool, updated label by label
tracked_points      targets of `mvr`, validation labels
candidate_sample    the candidates that one ask compares, of very large pools
choosing            the next query, and batches
local_candidates    new candidates near the best ones (`refine`)
frames              a learner as tables and text
workers             threads and processes that call an oracle
oracle              the function that measures, and how it is called
run_subject         what a run measures: a learner or a campaign
run                 a loop over a callable oracle
pools/              scores and posteriors of all candidates
"""
