"""Shards: pools of any size in Parquet files, and the executors that read them.

parquet_file   a Parquet file and its identity; CSV files converted to Parquet
row_groups     row groups, hashed before they are decoded
encoding       columns encoded as inputs
shard          the rows that are read together
dataset        a pool: its files, columns and shards
id_index       the position of an id, by hash
executors      tasks in this thread, in threads or in processes
dask_executor  tasks on a Dask cluster
"""
