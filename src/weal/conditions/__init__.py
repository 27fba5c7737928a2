"""Conditions as text, such as 'purity >= 95 and solvent is THF': parsed, never evaluated."""

from weal.conditions.condition import Cell, Comparison, Condition, Membership
from weal.conditions.parser import parse_condition

__all__ = ["Cell", "Comparison", "Condition", "Membership", "parse_condition"]
