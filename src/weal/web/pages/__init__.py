"""One module for each page of `weal serve`: routes, and the values that its template shows."""
