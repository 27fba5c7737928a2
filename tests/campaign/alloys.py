"""A campaign of alloys, for the tests of commands: its table, and what would be measured."""

import csv

import numpy as np

from shell import typed

N, TOLD = 40, 12


def hardness(temp, hours):
    return 300.0 + 20.0 * np.sin((temp - 800.0) / 60.0) + 3.0 * hours


def write_pool(path, n=N, told=TOLD, first=0):
    rng = np.random.default_rng(5)
    temp, hours = rng.uniform(800, 1000, n), rng.uniform(1, 9, n)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sample", "temp", "hours", "steel", "lab", "hardness"])
        for k in range(n):
            y = f"{hardness(temp[k], hours[k]):.2f}" if k < told else ""
            row = [f"{temp[k]:.1f}", f"{hours[k]:.2f}", "ABC"[k % 3], "north", y]
            writer.writerow([f"A-{first + k:04d}", *row])


def begin_alloys():
    """A campaign with labels and a model."""
    write_pool("candidates.csv")
    words = ["--pool", "candidates.csv", "--id", "sample", "--target", "hardness"]
    done = typed("new", "alloys", *words)
    assert done.code == 0
    return done


def begin_bare():
    """A campaign without a label, and so without a model."""
    write_pool("bare.csv", told=0)
    assert typed("new", "bare", "--pool", "bare.csv", "--id", "sample").code == 0
