"""Tables, points and labels that the golden files of 0.2 were made of."""

import csv

import numpy as np

SPECIES = ["ash", "birch", "oak", "pine"]
GRADES = ["low", "medium", "high"]


def smooth(X):
    """A function of the rows of X (N, d) in which inputs interact."""
    X = np.atleast_2d(X)
    return np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.4 * X[:, -1] * np.cos(X[:, 0])


def additive(X):
    """A sum of functions of single inputs: the last two do not matter."""
    X = np.atleast_2d(X)
    return np.sin(2.0 * X[:, 0]) + 0.6 * X[:, 1] ** 2 - 0.8 * X[:, 2]


def measure(X, seed=1, sd=0.1, function=smooth):
    """Labels of the rows of X, with noise, rounded to four digits."""
    noise = sd * np.random.default_rng(seed).normal(size=len(X))
    return np.round(function(X) + noise, 4)


def points(seed, n, d):
    return np.round(np.random.default_rng(seed).uniform(-1.5, 1.5, (n, d)), 4)


def board_rows(start, n):
    """Rows of a table as people have them: ids, text, dates, grades, truth values, gaps, prices.

    Numbers have decimal commas, and "<0,5" stands for a value below the limit of detection.
    """
    rng = np.random.default_rng(1000 + start)
    rows = []
    for k in range(start, start + n):
        heat, moisture = rng.uniform(80, 180), rng.uniform(0.5, 12)
        rows.append(
            {
                "board": f"B-{k:03d}",
                "species": SPECIES[int(rng.integers(4))],
                "felled": f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.2024",
                "grade": GRADES[int(rng.integers(3))],
                "planed": ["yes", "no"][int(rng.integers(2))],
                "heat [C]": comma(heat, 1),
                "moisture [%]": "<0,5" if moisture < 1.2 else comma(moisture, 2),
                "hours": "" if k % 9 == 4 else str(int(rng.integers(1, 9))),
                "price": str(int(rng.integers(2, 9))),
            }
        )
    return rows


def board_strength(row):
    """The label of such a row, in MPa, without noise."""
    heat = float(row["heat [C]"].replace(",", "."))
    moisture = float(row["moisture [%]"].lstrip("<").replace(",", "."))
    bonus = {"ash": 6.0, "birch": 0.0, "oak": 11.0, "pine": -9.0}[row["species"]]
    grade = 5.0 * GRADES.index(row["grade"])
    return 70.0 + bonus + grade - 0.004 * (heat - 130.0) ** 2 - 1.5 * moisture


def comma(value, digits):
    return f"{value:.{digits}f}".replace(".", ",")


def write_csv(path, rows, separator=";"):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path
