"""Tables from files and frames, and their encoding as numbers for a model.

    cells                 missing-value markers, numbers and dates in text, typed numbers
    spreadsheet_escaping  escape text so that no spreadsheet runs it
    text_records          encoding and records of a text file, within the limits
    csv_reader            the CSV reader: separator, header, records
    results_reader        labels in a results file, line by line
    frames                pandas, polars and pyarrow frames
    workbook_scan         limits of an Excel workbook
    excel_reader          the Excel reader: one sheet
    table                 a Table from any of these
    parquet_io            a Table as Parquet bytes, and back
    table_writer          frames as CSV, TSV, JSON, Parquet and Excel files
    columns               kinds of columns: number, flag, date, category, dropped
    plan_columns          how a column becomes inputs
    plan                  the plan: plain JSON that encodes every table like the first
    inputs                inputs of arrays and frames
    design_space          space-filling candidates within bounds

The first five need the standard library only, so `weal tell` starts fast; this file therefore
imports nothing.
"""
