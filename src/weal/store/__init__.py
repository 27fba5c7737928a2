"""Stores of campaigns: append-only event logs in memory, SQLite or PostgreSQL.

Read in this order:

    events       drafts, events, and the chain of hashes
    urls         one string names a store; no password is shown
    actors       who sends a request, and what they may do
    tokens       secrets with a name, permissions, campaigns and an end
    protocol     the seam: `Store` reads and writes, `Transaction` is the view under the write lock
    statements   the tables, and the SQL statements that SQLite and PostgreSQL share
    database     a store on an engine that runs transactions
    memory       the store in dictionaries
    sqlite       the store in one file; sqlite_file: how the file is opened, made and synced
    postgres     the store on a server
    backup       a checked copy of one moment
    integrity    the checks of `weal doctor`
    recovery     the readable rows of a damaged file, saved
"""
