"""Tables from files and frames, and their encoding as numbers for a model.

    cells                 missing-value markers, numbers and dates in text, typed numbers
    units                 spellings and conversions of units
    table_error           a refusal with the options that solve it
    number_columns        text as numbers: units, decimal commas, thousands, cells in doubt
    table_options         the options with which a table is read
    text_records          encoding and records of a text file, within the limits
    csv_reader            the CSV reader: separator, header, records
    result_lines          one line of a results file
    several_results       results files of several quantities
    results_reader        labels in a results file, line by line
    frames                pandas, polars and pyarrow frames
    frame_kinds           frames of the kind that was given
    candidate_rows        rows that are not candidates: units, totals, footnotes
    workbook_scan         limits of an Excel workbook
    merged_cells          values of merged cells
    plain_sheet           sheets that need the standard library only
    openpyxl_sheet        all other sheets
    excel_reader          the Excel reader: the sheet that has the named columns
    table_preview         the first rows of a file, unchanged
    typed_columns         columns of one type
    table                 a Table from any of these
    parquet_io            a Table as Parquet bytes, and back
    table_writer          columns as CSV, TSV, JSON, Parquet and Excel files
    columns               kinds of columns: number, flag, date, category, dropped
    plan_columns          how a column becomes inputs
    plan_json             columns of a plan as JSON
    input_columns         results, twins and equal rows
    plan                  the plan: plain JSON that encodes every table like the first
    similar_levels        levels of a category that may be the same
    label_bounds          bounds of the labels in a target column
    candidate_table       candidates with plan, repeats and notes: used by every interface
    inputs                inputs of arrays and frames
    design_inputs         inputs of a box: intervals, steps, lists of values
    mixtures              inputs with a fixed sum
    fixed_sums            columns of a table with the same sum in every row
    condition_columns     columns of a table for conditions
    design_space          space-filling candidates within bounds, mixtures and constraints
    design_file           boxes of TOML files, campaigns and Python arguments

Modules up to `results_reader` need the standard library only, so `weal tell` starts fast; this file
therefore imports nothing.
"""
