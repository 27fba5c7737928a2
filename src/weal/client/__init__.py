"""Clients of a server: `Remote` in Python, over the JSON API of `weal serve`."""
