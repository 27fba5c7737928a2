"""Clients of a server: `Remote` in Python, over the JSON API of `weal serve`.

connection  requests, retries, and errors by their codes
remote      `Remote`: the methods of `Campaign`
"""
