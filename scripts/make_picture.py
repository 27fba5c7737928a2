"""Draw the picture of the README: the rows that weal measures, and its error against random choice.

python scripts/make_picture.py [FOLDER]      (docs/_static; a minute)

The table is the sample of the README, 400 recipes of an invented reaction with four inputs and a
little noise: the same model for both curves, and the true error over all recipes.
weal-beside-random.svg is for a light background, weal-beside-random-dark.svg for a dark one. Both
are transparent, 640 units wide, and legible at half that width: no text is smaller than 21 units.
"""

import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weal import ActiveLearner
from weal.samples import path as sample_path
from weal.samples import reactions

LABELS, SEEDS = 60, 10
INPUTS = ("temp", "hours", "catalyst", "pressure")
Array = NDArray[np.float64]
METHODS = {"auto": "weal", "random": "random"}
LEVELS = (20, 40, 60, 80)  # yields at which the colour of a row changes, in %
HEIGHT, WIDTH, SIDE, TOP = 342, 640, 266, 42
PLOT = (336, 518)  # left and right end of the curves
FONT = "font:21px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"


class Table(NamedTuple):
    """Inputs, measured and true yields of all recipes."""

    X: Array
    y: Array
    truth: Array


class Run(NamedTuple):
    """One run: rows in the order of asking, error after each label from `first` on."""

    rows: list[int]
    errors: Array
    first: int


class Theme(NamedTuple):
    """Colours for one background."""

    text: str
    axis: str
    ring: str
    weal: str
    random: str
    yields: tuple[str, ...]  # from low to high


THEMES = {
    "weal-beside-random.svg": Theme(
        "#1f2328", "#57606a", "#000", "#0063a0", "#b84a00",
        ("#c9d6e2", "#9dbfdc", "#6aa3d0", "#3b7fb8", "#134f86"),
    ),
    "weal-beside-random-dark.svg": Theme(
        "#e6edf3", "#8b949e", "#fff", "#6cb6ff", "#ff9d57",
        ("#2b3a4a", "#34597c", "#3f7db5", "#63a8e6", "#b9dcff"),
    ),
}  # fmt: skip


def read_sample() -> Table:
    """The sample table, measured and true."""
    with sample_path("reactions.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ids = [row["run"] for row in rows]
    X = np.array([[float(row[name]) for name in INPUTS] for row in rows])
    truth = np.array([reactions.truth(name) for name in ids])
    return Table(X, np.array(reactions.measure(ids)), truth)


def run(table: Table, acquisition: str, seed: int) -> Run:
    """A run of LABELS labels."""
    learner = ActiveLearner(table.X, acquisition=acquisition, seed=seed)
    rows, errors = [], []
    for n in range(1, LABELS + 1):
        rows.append(learner.ask())
        learner.tell(rows[-1], table.y[rows[-1]])
        if n >= learner.n_start:
            off = learner.model.predict(table.X) - table.truth
            errors.append(float(np.sqrt(np.mean(off**2))))
    return Run(rows, np.array(errors), learner.n_start)


def path(points: Iterable[Sequence[float]], join: str = "L") -> str:
    """The d of a path through points."""
    return "M" + join.join(f"{x:.1f} {y:.1f}".replace(".0", "") for x, y in points)


def dots(points: Iterable[Sequence[float]]) -> str:
    """The d of a path with a dot, a line of no length, at each point."""
    return "".join(f"{path([point])}h0" for point in points)


def in_square(X: Array) -> Array:
    """Temperature and time in the units of the left picture."""
    low, high = X[:, :2].min(axis=0), X[:, :2].max(axis=0)
    x, y = ((X[:, :2] - low) / (high - low) * (SIDE - 24)).T
    return np.column_stack([14 + x, TOP + SIDE - 12 - y])


def square(table: Table, one: Run, theme: Theme) -> list[str]:
    """All rows by temperature and time, coloured by their yield; rings are measured."""
    at, group = in_square(table.X), np.searchsorted(LEVELS, table.truth)
    asked, bottom = dots(at[one.rows]), TOP + SIDE
    rings = [
        f'<path d="{asked}" stroke="{theme.ring}" stroke-width="13"/>',
        *(
            f'<path d="{dots(at[[n for n in one.rows if group[n] == g]])}" stroke="{colour}" '
            'stroke-width="8.5"/>'
            for g, colour in enumerate(theme.yields)
        ),
    ]
    return [
        *(
            f'<path d="{dots(at[group == g])}" stroke="{colour}" stroke-width="6"/>'
            for g, colour in enumerate(theme.yields)
        ),
        *rings,
        f'<rect x="2" y="{TOP}" width="{SIDE}" height="{SIDE}" stroke="{theme.axis}"/>',
        text(2, 26, theme.text, f"{len(one.rows)} of {len(at)} rows measured"),
        text(2 + SIDE / 2, bottom + 24, theme.text, "temperature, time", ' text-anchor="middle"'),
    ]


def text(x: float, y: float, colour: str, words: str, more: str = "") -> str:
    """A line of text that begins at x; more attributes may change that."""
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}"{more}>{words}</text>'


def curves(found: dict[str, list[Run]], theme: Theme) -> list[str]:
    """The median and the range of the errors, on a logarithmic scale."""
    errors = {name: np.array([one.errors for one in runs]) for name, runs in found.items()}
    most = max(float(each.max()) for each in errors.values())
    least = min(float(each.min()) for each in errors.values())
    first, bottom = found["auto"][0].first, TOP + SIDE
    at = np.linspace(*PLOT, LABELS - first + 1)

    def height(error: Array) -> Array:
        return np.asarray(TOP + SIDE * np.log(most / error) / np.log(most / least))

    marks = [one for one in (5, 10, 20) if least < one < most]
    parts = [
        text(PLOT[0], 26, theme.text, "error of predictions"),
        f'<path d="M{PLOT[0]} {TOP}V{bottom}H{PLOT[1]}" stroke="{theme.axis}" stroke-width="1.5"/>',
        text(PLOT[0], bottom + 24, theme.text, f"{first}", ' text-anchor="middle"'),
        text(sum(PLOT) / 2, bottom + 24, theme.text, "labels", ' text-anchor="middle"'),
        text(PLOT[1], bottom + 24, theme.text, f"{LABELS}", ' text-anchor="middle"'),
    ]
    for one in marks:
        y = float(height(np.array(float(one))))
        parts.append(text(PLOT[0] - 8, y + 7, theme.text, f"{one}", ' text-anchor="end"'))
        parts.append(f'<path d="M{PLOT[0] - 4} {y:.1f}h4" stroke="{theme.axis}"/>')
    for name, colour in (("random", theme.random), ("auto", theme.weal)):
        parts += curve(at, errors[name], height, colour, METHODS[name])
    return parts


def curve(
    at: Array, errors: Array, height: Callable[[Array], Array], colour: str, name: str
) -> list[str]:
    """One band, its median, and its name at the end."""
    low, middle, high = (height(each) for each in np.quantile(errors, (0, 0.5, 1), axis=0))
    band = [*zip(at, low, strict=True), *zip(at[::-1], high[::-1], strict=True)]
    line = path(zip(at, middle, strict=True))
    return [
        f'<path d="{path(band)}Z" fill="{colour}" fill-opacity=".18"/>',
        f'<path d="{line}" stroke="{colour}" stroke-width="4"/>',
        text(at[-1] + 8, middle[-1] + 7, colour, name, ' font-weight="700"'),
    ]


def draw(table: Table, found: dict[str, list[Run]], theme: Theme) -> str:
    """The picture as SVG."""
    words = f"<desc>{report(found)}</desc>"
    parts = [words, *square(table, found["auto"][0], theme), *curves(found, theme)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" fill="none" stroke-linecap="round" '
        f'stroke-linejoin="round" style="{FONT}">'
    )
    return "\n".join([head, *parts, "</svg>\n"])


def report(found: dict[str, list[Run]]) -> str:
    """The numbers of the caption."""
    ours, others = (
        np.median([one.errors for one in found[name]], axis=0) for name in ("auto", "random")
    )
    above = np.flatnonzero(ours > others[-1])  # the last label count at which weal is worse
    as_good = found["auto"][0].first + int(above[-1]) + 1
    return (
        f"median error after {LABELS} labels: weal {ours[-1]:.2f}, random {others[-1]:.2f}; "
        f"weal is as good as random at the end with {as_good} labels"
    )


def main(folder: str = "docs/_static") -> None:
    """Run both, draw them, and print the numbers of the caption."""
    table = read_sample()
    found = {name: [run(table, name, seed) for seed in range(SEEDS)] for name in METHODS}
    for name, theme in THEMES.items():
        Path(folder, name).write_text(draw(table, found, theme), encoding="utf-8")
    print(report(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
