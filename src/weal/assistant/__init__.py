"""Tools for assistants: the campaigns of a store over the Model Context Protocol (`weal mcp`).

server  the Model Context Protocol over standard input and output
tools   read campaigns, ask for rows, tell labels, explain
"""
