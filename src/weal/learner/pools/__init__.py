"""Pools in shards: candidates that are looked up, passes that score them, batches from a few."""
