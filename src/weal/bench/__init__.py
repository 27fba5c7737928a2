"""The benchmark room: the paper's ten experiments, and the same protocol on a user's own table.

Read in this order:

    places       where data and cached points are kept on this machine
    functions    the five synthetic functions
    cache        arrays kept on disk under a hash of what they came from
    robot        robot pushing, a Box2D simulation
    tables       California, the Malaria stand-in, Diabetes: found, read and checked
    get          fetching what is not at hand
    tasks        the ten tasks as one table of data; `draw` makes the split of a realisation
    user_table   a task out of a user's CSV or Parquet file
"""
