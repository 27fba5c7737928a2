"""Tables as people have them, to numbers for a model.

Read in this order:
    cells       what a cell may hold; what stands for missing; text to numbers
    entry       one number typed by a person, or an error that says what to write instead
    guarding    text in files for spreadsheets, so that none is run
    delimited   CSV and its like: encoding, separator, records
    grid        a file as rows of cells, and which of them names the columns
    results     labels that come back in a file, line by line
    frames      pandas, polars and pyarrow frames; excel: a sheet
    reading     any of these as a Table
    parquet     a Table as Parquet bytes, and back
    dates       which way dates are written
    columns     what a column is: number, flag, date, category, or of no use and why
    rows        ids and labels of the rows
    planning    a column of a table to a column of a plan
    plan        the plan: plain JSON, and the inputs (N, d) it makes of any table like the first

The first six are of the standard library alone, so that `weal tell` starts at once; this file
therefore imports nothing.
"""
