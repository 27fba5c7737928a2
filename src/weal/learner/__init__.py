"""The learner: `state = apply(state, event)`, and the choice of the next candidate.

events                everything that can happen to a learner
labels                labels as they were told, and checks of new ones
label_entry           labels from the arguments of `tell`, as events
label_changes         a further label of a row: repeat, correction, confirmation
part_labels           labels of a quantity as labels of its parts; the outcome of every run
candidates            the candidate protocol, samples of large pools, costs
memory_candidates     candidates in memory: arrays and frames
sharded_candidates    candidates in shards of files
shared_candidates     rows of a box that share a value, for batches
state                 the frozen state of a learner
transitions           `apply(state, event)`
config                settings and acquisition functions, checked
history               queries and labels as plain rows
posterior_cache       model and posterior of the pool, updated label by label
quantity_sources      predictions of one quantity as an input of another
quantity_predictions  predictions by quantity
joint_beliefs         beliefs in several quantities, for goals over them
joint_scores          scores by several models: of quantities, and of the outcome of runs
tracked_points        targets of `mvr`, validation labels
candidate_sample      the candidates that one ask compares, of very large pools
choosing              the next query, and batches
repeats               measured rows that are worth a second label
best_rows             rows of the goal's set, with their probabilities
batch_options         what a batch may hold: the arguments of `ask`
batches               the events of an ask with these options
batch_limits          the rows that these options allow
batch_levels          the levels of a hard-to-change factor in a batch
level_screening       the possible gain of a batch, without choosing it
batch_value           the joint value of a batch
local_candidates      new candidates near the best ones (`refine`)
frames                a learner as tables and text
workers               threads and processes that call an oracle
oracle                the function that measures, and how it is called
run_subject           what a run measures: a learner or a campaign
run                   a loop over a callable oracle
pools/                scores and posteriors of all candidates
"""
