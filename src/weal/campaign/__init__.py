"""Campaigns: labels as events in a store that loses none, replayed into a learner.

Read in this order:

    campaign     what people do: ask, tell, skip, withdraw, look; each is one transaction
    rules        which events follow, decided under the write lock (`weal.store`)
    ledger       where a campaign stands, without a model: the fold of its events
    replay       what a learner knows: the same events through `learner.apply`
    session      candidates, replay and beliefs of an open campaign
    checkpoint   experts as they were settled, kept in the store
    offers       rows to be asked next;  `explaining`: why these
    status       how far it is (`weal.diagnostics`);  `kept_trend`, `kept_status`, `reporting`

and, for the border: `opening`, `creating`, `entries`, `settings`, `candidate_table`, `exporting`.
"""
