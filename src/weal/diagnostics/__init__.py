"""Diagnostics of a model and its labels, in the user's units; pure functions of frozen values.

    leave_one_out         predictions of each label from the others, and in sequence
    error_trend           three error estimates against the number of labels; interval coverage
    estimate_intervals    intervals of these estimates, and of shares of right predictions
    stopping              effect of the last labels, labels that a goal needs, advice to stop
    model_status          errors, coverage, noise, experts and inputs of a model, in one value
    model_text            the same as lines of text
    noise_difference      where labels scatter more, in one sentence
    learner_status        the status of a learner: labels, error, model, labels to check, advice
    headline              the one number of a status; goal_headline: that of a goal with a set
    word_scores           labels of words, each predicted from the others
    goal_set              progress on the set of a goal, and the best label
    set_progress          its measures: F1, wrong rows, improvement
    posterior_draws       functions drawn from the posterior: how much better unmeasured rows may be
    random_baseline       the loss that random choice would probably have had
    effects               partial dependence, importance of inputs, distances by importance
    explanation           why a candidate was asked; row_explanation: of a learner's candidate
    suspects              labels that are probably wrong: factors, swaps, units
    contradictions        trusted labels, runs and groups that the other labels contradict
    contradiction_search  the search for such sets

Nothing here changes a state, or imports campaigns and stores.
"""
