"""Pools: posteriors and scores of all candidates, in memory or computed from shards.

protocol         the pool protocol, and the posterior with pending candidates
memory           a pool in memory, updated by one covariance column for each label
deferred_steps   labels that are not yet applied to most candidates of a large pool
score_pass       scores of a pool in memory
sharded_rows     rows and ids of shards, read by position
shard_pass       one scoring pass over shards
combined_scores  the best candidate by a weighted sum of scores
sharded          a pool in shards
predictions      predictions for every shard, written as a folder
"""
