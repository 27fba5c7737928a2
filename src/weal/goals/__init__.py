"""Goals: what the labels of a campaign are for.

protocol   what every goal decides: its acquisition, its words, when to stop
learn      a small prediction error everywhere
"""
