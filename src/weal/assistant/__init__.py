"""Tools for assistants: the campaigns of a store over the Model Context Protocol (`weal mcp`)."""
