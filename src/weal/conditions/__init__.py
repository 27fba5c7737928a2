"""Conditions as text, such as 'purity >= 95 and solvent is THF': parsed, never evaluated.

condition  comparisons of sums, and words, which must all hold
parser     the parser: recursive descent over the tokens
"""

from weal.conditions.condition import Cell, Comparison, Condition, Membership
from weal.conditions.parser import parse_condition

__all__ = ["Cell", "Comparison", "Condition", "Membership", "parse_condition"]
