"""Campaigns: candidates and labels as events in a store, replayed into a learner.

Read in this order:

    campaign              the facade: ask, tell, skip, withdraw, predict, status
    log                   the event log of an open campaign, read on request
    events                bodies of the events, and what a label event changes
    ledger                labels, leases, skipped rows and settings after the events
    rules                 decisions under the write lock: which events are written
    idempotency           keys of calls: a retry writes nothing
    replay                the events applied to a learner's state
    session               candidates, replay and posterior of an open campaign; the error trend
    suggestions           ask: choose rows, lease them, explain them
    label_input           checks of labels as they are typed
    plausibility          whether a typed label is plausible
    results_import        labels from a results file
    config                settings, checked
    creation              new campaigns and further candidates
    box_candidates        candidates drawn in a box, and more near the promising ones
    candidates            candidates in the store; candidate_files: candidates in files
    id_lookup             candidates by id; suggestions for a misspelt id
    predict               predictions for new rows
    export                labels, predictions, candidates, events and worksheets as tables
    candidate_report      the report of one row
    contradiction_report  labels that contradict the others
    status                progress and advice; status_text: as text; status_cache: kept in the store
    budget                cost of the labels, and the budget
    run                   ask, measure with an oracle, tell, as events
    plots                 figures
"""
