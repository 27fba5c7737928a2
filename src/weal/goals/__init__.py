"""Goals: what the labels of a campaign are for.

protocol   what every goal decides: its acquisition, its words, when to stop
learn      a small prediction error everywhere
best       the highest rows, or the lowest
threshold  all rows above a level, below it, or between two
"""

from weal.goals.best import Best, Maximise, Minimise
from weal.goals.learn import Learn
from weal.goals.threshold import Above, Below, Between

__all__ = ["Above", "Below", "Best", "Between", "Learn", "Maximise", "Minimise"]
