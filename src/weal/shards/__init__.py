"""Candidates in shards: files that are opened and not read, and how their rows are found."""
