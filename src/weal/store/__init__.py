"""Where campaigns are kept.

Read in this order:

    events      what happened, one row each, chained by hashes
    naming      one string names a store; no password is shown
    store       the seam: write under a lock, read since
    statements  a store as tables: what SQLite and PostgreSQL share; schema: the tables
    memory | sqlite | postgres    the three stores (sqlite_file, sqlite_sql: how a file is used)
    doctor      what is wrong with a store; checkup: with its campaigns
    rescue      what can be saved of a damaged file; wreck: how it is opened
    backup      a checked copy of one moment
"""
