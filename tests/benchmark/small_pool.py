"""A pool of few rows, for tests that search one."""

from dataclasses import replace

from weal.benchmark import goal_tasks

NEEDLE = goal_tasks.GOAL_TASKS["needle"]


def a_small(task, rows=40):
    return replace(task, U0=rows - goal_tasks.FIRST_LABELS, test=rows)
