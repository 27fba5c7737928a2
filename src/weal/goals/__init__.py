"""Goals of a campaign: learn, find the best rows, or find rows beyond a level.

protocol   what every goal decides: its acquisition, its words, its learning curve
learn      a small prediction error everywhere
best       the highest rows, or the lowest
threshold  all rows above a level, below it, or between two
feasible   the best rows, or rows beyond a level, that meet constraints on other quantities
pareto     two objectives
requirements  the constraints of a goal
named      the quantity that a goal is about
until      when to stop: at an error, a number of labels, or a label that is good enough
grammar    texts of goals and stop conditions
"""

from weal.goals.best import Best, Maximise, Minimise
from weal.goals.feasible import Feasible
from weal.goals.learn import Learn
from weal.goals.pareto import Pareto
from weal.goals.threshold import Above, Below, Between

__all__ = [
    "Above",
    "Below",
    "Best",
    "Between",
    "Feasible",
    "Learn",
    "Maximise",
    "Minimise",
    "Pareto",
]
