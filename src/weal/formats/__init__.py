"""Files and snapshots: how models, learners and candidates are written and read again.

archive           a ZIP file of a JSON header and `.npy` arrays, never pickle
model_file        a fitted model
candidates_file   the candidates of a learner
learner_file      a learner: candidates, events, model
snapshots         the selected experts and the pool of a campaign, kept in its store
"""
