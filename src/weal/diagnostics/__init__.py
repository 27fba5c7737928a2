"""Diagnostics of a model and its labels, in the user's units; pure functions of frozen values.

    leave_one_out         predictions of each label from the others, and in sequence
    error_trend           three error estimates against the number of labels; interval coverage
    stopping              effect of the last labels, labels that a goal needs, advice to stop
    set_progress          how far the set of a goal is known: F1, wrong rows, improvement
    random_baseline       the loss that random choice would probably have had
    effects               partial dependence, importance of inputs, distances by importance
    explanation           why a candidate was asked
    suspects              labels that are probably wrong: factors, swaps, units
    contradictions        trusted labels, runs and groups that the other labels contradict
    contradiction_search  the search for such sets

Nothing here changes a state, or imports campaigns and stores.
"""
