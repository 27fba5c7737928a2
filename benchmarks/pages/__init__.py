"""Pages of results: each module turns result files into the text of one page.

Nothing is typed by hand: sentences have holes, and the files fill them. Words, tables and figures
are in `markdown` and `figures`; what a page is about is in its own module;
`scripts/make_results.py` writes them all.
"""
