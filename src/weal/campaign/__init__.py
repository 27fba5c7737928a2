"""Campaigns: candidates and labels as events in a store, replayed into a learner.

Read in this order. A campaign, its events and its state:

    campaign              the facade: ask, tell, skip, withdraw, predict, status
    log                   the event log of an open campaign, read on request
    events                bodies of the events, and what a label event changes
    ledger                labels, leases, skipped rows and settings after the events
    replay                the events applied to a learner's state
    session               candidates, replay and posterior of an open campaign; the error trend

New campaigns, settings and candidates:

    config                settings, checked
    creation              new campaigns and further candidates
    target_columns        the quantities of a new campaign, from the target columns
    quantity_names        quantities by the names that people type: `yield=82.1`
    earlier_labels        labels of an earlier campaign for a new one (`weal new --like`)
    campaign_copy         a copy under another name
    table_calls           tables sent by programs: created or added once for each key
    box_candidates        candidates drawn in a box, and more near the promising ones
    candidates            candidates in the store; candidate_files: candidates in files
    id_lookup             candidates by id; suggestions for a misspelt id

Writes, decided under the write lock:

    rules                 tell: which events are written for labels
    row_rules             skip, fail and withdraw: which events are written for rows
    batch_rules           ask with options of a batch
    idempotency           keys of calls: a retry writes nothing
    preconditions         a write only if nothing has changed
    label_edits           corrections, repeats and withdrawals of a displayed label
    undo                  the last actions of a person, reverted one at a time

Labels as they are typed and imported:

    label_input           checks of labels before they are saved
    row_results           the results of one row: labels, a failed run, a bound
    label_lines           labels of many rows from a program
    plausibility          whether a typed label is plausible
    results_import        labels from a results file

The choice of rows, and runs:

    suggestions           ask: choose rows, lease them, explain them
    budget                cost of the labels, and the budget
    run                   ask, measure with an oracle, tell, as events
    next_step             the next step of a person: measure, ask, stop, restore or add

Predictions, reports and tables:

    predict               predictions for new rows; row_predictions: for rows of the campaign
    prediction_text       predictions as text
    candidate_report      the report of one row
    suspect_report        labels that are probably wrong
    contradiction_report  labels that contradict the others
    goal_report           the most probable rows of the goal's set
    status                progress and advice; status_text: as text; status_cache: kept in the store
    quantity_status       the status of each quantity and of failed runs; quantity_text: as text
    export                labels, predictions, candidates, events and worksheets as tables
    answers               the JSON of `--json` and of the API
    plots                 figures
    notebook_bench        the labelling widget in a notebook
"""
