"""Draw the picture of the README: the rows that weal measures, and its error against random choice.

python scripts/make_picture.py [FOLDER]      (docs/_static; half a minute)

The function is Gramacy and Lee's, a bump in one corner of a square and nothing elsewhere, with a
little noise: 400 candidates, the same model for both, and the true error over all candidates.
weal-beside-random.svg is for a light background, weal-beside-random-dark.svg for a dark one. Both
are transparent, 640 units wide, and legible at half that width: no text is smaller than 21 units.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import contourpy
import numpy as np
from numpy.typing import NDArray

from weal import ActiveLearner

LABELS, SEEDS, N, NOISE = 60, 10, 400, 0.01
FIRST = 5  # labels before the first model
Array = NDArray[np.float64]
METHODS = {"auto": "weal", "random": "random"}
LEVELS = (-0.36, -0.24, -0.12, -0.04, 0.04, 0.12, 0.24, 0.36)
HEIGHT, WIDTH, SIDE, TOP = 330, 640, 266, 42
PLOT = (330, 530)  # left and right end of the curves
FONT = "font:21px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"


class Run(NamedTuple):
    """One run: candidates, ids in the order of asking, error after each label from the fifth."""

    X: Array
    ids: list[int]
    errors: Array


class Theme(NamedTuple):
    """Colours for one background."""

    text: str
    dots: str
    ring: str
    inside: str
    weal: str
    random: str
    low: str
    high: str


THEMES = {
    "weal-beside-random.svg": Theme(
        "#1f2328", "#57606a", "#000", "#fff", "#0063a0", "#b84a00", "#6aaed6", "#f08a62"
    ),
    "weal-beside-random-dark.svg": Theme(
        "#e6edf3", "#8b949e", "#fff", "#0d1117", "#6cb6ff", "#ff9d57", "#2f7fbf", "#d0622f"
    ),
}


def truth(X: Array) -> Array:
    """Gramacy and Lee 2009: x1 exp(-x1^2 - x2^2)."""
    return np.asarray(X[:, 0] * np.exp(-(X**2).sum(axis=1)))


def run(acquisition: str, seed: int) -> Run:
    """A run of LABELS labels."""
    rng = np.random.default_rng([seed, 7])
    X = rng.uniform(-2.0, 6.0, (N, 2))
    f = truth(X)
    y = f + NOISE * rng.standard_normal(N)
    learner = ActiveLearner(X, acquisition=acquisition, seed=seed)
    ids, errors = [], []
    for n in range(1, LABELS + 1):
        ids.append(learner.ask())
        learner.tell(ids[-1], y[ids[-1]])
        if n >= FIRST:
            errors.append(np.sqrt(np.mean((learner.model.predict(X) - f) ** 2)))
    return Run(X, ids, np.array(errors))


def path(points: Iterable[Sequence[float]], join: str = "L") -> str:
    """The d of a path through points."""
    return "M" + join.join(f"{x:.1f} {y:.1f}".replace(".0", "") for x, y in points)


def dots(points: Iterable[Sequence[float]]) -> str:
    """The d of a path with a dot, a line of no length, at each point."""
    return "".join(f"{path([point])}h0" for point in points)


def in_square(X: Array) -> Array:
    """Inputs in the units of the left picture."""
    return np.column_stack([2 + (X[:, 0] + 2) / 8 * SIDE, TOP + SIDE - (X[:, 1] + 2) / 8 * SIDE])


def square(one: Run, theme: Theme) -> list[str]:
    """The function, the candidates, and those that were measured."""
    side = np.linspace(-2.0, 6.0, 81)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    lines = contourpy.contour_generator(side, side, truth(grid).reshape(81, 81))
    shapes = []
    for level in LEVELS:
        colour = theme.low if level < 0 else theme.high
        for line in lines.lines(level):
            d = path(in_square(np.asarray(line))[::2])
            shapes.append(f'<path d="{d}Z" fill="{colour}" fill-opacity=".3"/>')
    asked = dots(in_square(one.X[one.ids]))
    return [
        *shapes,
        f'<rect x="2" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="{theme.dots}"/>',
        f'<path d="{dots(in_square(one.X))}" stroke="{theme.dots}" stroke-width="2.6"/>',
        f'<path d="{asked}" stroke="{theme.ring}" stroke-width="11"/>',
        f'<path d="{asked}" stroke="{theme.inside}" stroke-width="7"/>',
        text(2, 26, theme.text, f"{LABELS} of {N} rows measured"),
    ]


def text(x: float, y: float, colour: str, words: str, more: str = "") -> str:
    """A line of text that begins at x; more attributes may change that."""
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}"{more}>{words}</text>'


def curves(found: dict[str, list[Run]], theme: Theme) -> list[str]:
    """The median and the range of the errors, on a logarithmic scale."""
    errors = {name: np.array([one.errors for one in runs]) for name, runs in found.items()}
    most = max(float(each.max()) for each in errors.values())
    least = min(float(each.min()) for each in errors.values())
    at = np.linspace(*PLOT, LABELS - FIRST + 1)

    def height(error: Array) -> Array:
        return np.asarray(TOP + SIDE * np.log(most / error) / np.log(most / least))

    bottom = TOP + SIDE
    parts = [
        text(PLOT[0], 26, theme.text, "error of predictions"),
        f'<path d="M{PLOT[0]} {TOP}V{bottom}H{PLOT[1]}" stroke="{theme.dots}" stroke-width="1.5"/>',
        text(PLOT[0], bottom + 21, theme.text, f"{FIRST}", ' text-anchor="middle"'),
        text(sum(PLOT) / 2, bottom + 21, theme.text, "labels", ' text-anchor="middle"'),
        text(PLOT[1], bottom + 21, theme.text, f"{LABELS}", ' text-anchor="middle"'),
    ]
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


def draw(found: dict[str, list[Run]], theme: Theme) -> str:
    """The picture as SVG."""
    parts = [*square(found["auto"][0], theme), *curves(found, theme)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" fill="none" stroke-linecap="round" '
        f'stroke-linejoin="round" style="{FONT}">'
    )
    return "\n".join([head, *parts, "</svg>\n"])


def main(folder: str = "docs/_static") -> None:
    """Run both, draw them, and print the numbers of the caption."""
    found = {name: [run(name, seed) for seed in range(SEEDS)] for name in METHODS}
    for name, theme in THEMES.items():
        Path(folder, name).write_text(draw(found, theme), encoding="utf-8")
    ends = {
        name: float(np.median([one.errors[-1] for one in runs])) for name, runs in found.items()
    }
    at = np.median([one.errors for one in found["auto"]], axis=0)
    as_good = FIRST + int(np.argmax(at <= ends["random"]))
    print(f"after {LABELS} labels {ends}; weal is as good as random at the end after {as_good}")


if __name__ == "__main__":
    main(*sys.argv[1:])
