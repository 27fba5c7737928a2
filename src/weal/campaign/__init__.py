"""Campaigns: labels as events in a store that loses none, replayed into a learner.

Read in this order:

    events      what happened, one row each, chained by hashes
    store       the seam: write under a lock, read since; one string names the store
    memory | sqlite | postgres    the three stores
    doctor      what is wrong with a store, and what can be saved
"""
