"""File formats of models, learners and candidates.

archive           a ZIP file of a JSON header and `.npy` arrays, never pickle
codec             dataclasses as a header and arrays
model_file        a fitted model
noise_file        varying noise in the file of a model
class_file        a fitted classifier: the models of its classes
candidates_file   the candidates of a learner
learner_file      a learner: candidates, labels, history, selected experts
snapshots         the selected experts and the pool of a campaign, in its store
"""
