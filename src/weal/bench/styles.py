"""How methods look in a figure, and how far its axes go.

Colours are Okabe and Ito's, which the colour-blind can tell apart; each method also has its own
line and marker, so that a figure reads in grey print. A method of the table always looks the
same; others take what is left in turn. Methods that also train on V ("+v") look as the method
they are a variant of, with hollow markers.

Axes follow the mean curves, not the bands. NMSE is logarithmic when the curves span more than a
factor of three. NPLL ends at a few times the height that the median method reaches: a density
that is wrong by a factor e^10000 would flatten all others, so it runs off the scale, and the
figure says which method does and how far it goes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from weal.core.arrays import Array
from weal.plots.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY

Bands = Literal["few", "all"]
_LOG_RATIO = 3.0
_TALLEST = 2.5  # of the NPLL axis, in units of the height of the median method's peak
_MOST_BANDS = 4  # more of them lie on each other as mud; the paper draws all


@dataclass(frozen=True, slots=True)
class Look:
    """Colour, line and marker of a method."""

    color: str
    linestyle: Any = "-"
    marker: str = ""
    linewidth: float = 1.0
    hollow: bool = False

    def line(self) -> dict[str, Any]:
        """As keywords of a matplotlib line."""
        face = "white" if self.hollow else self.color
        return {
            "color": self.color,
            "linestyle": self.linestyle,
            "linewidth": self.linewidth,
            "marker": self.marker,
            "markersize": 3.4 + 1.6 * (self.marker == "*"),
            "markerfacecolor": face,
            "markeredgewidth": 0.7,
        }


LOOKS = {
    "gp-var": Look(BLACK, "-", "o"),
    "gp-var-exact": Look(BLACK, (0, (4, 1.5)), "o", hollow=True),
    "random": Look(GREY, ":", "x"),
    "egp-wvar": Look(ORANGE, "-", "s"),
    "egp-went": Look(SKY, (0, (5, 1)), "D"),
    "egp-qbc": Look(GREEN, "-.", "^"),
    "egp-gpm-var": Look(BLUE, (0, (2, 1)), "v"),
    "egp-gpm-ent": Look(PURPLE, (0, (4, 1, 1, 1)), "P"),
    "egp-multiafs": Look(RED, "-", "*", linewidth=1.6),
    "egp-multiafs-range": Look(RED, (0, (3, 1)), "*", hollow=True),
}
_OTHERS = [
    Look(color, line, marker, hollow=True)
    for color, line, marker in zip(
        (PURPLE, BLUE, GREEN, ORANGE, SKY) * 4,
        ("-", "--", "-.", ":") * 5,
        "hX<>dsp" * 3,
        strict=False,
    )
]


def look_of(method: str, methods: list[str]) -> Look:
    """The look of one of these methods."""
    plain = method.removesuffix("+v")
    if plain in LOOKS:
        return LOOKS[plain] if plain == method else replace(LOOKS[plain], hollow=True)
    strangers = [name for name in methods if name.removesuffix("+v") not in LOOKS]
    return _OTHERS[strangers.index(method) % len(_OTHERS)]


def with_bands(methods: list[str], bands: Bands = "few") -> list[str]:
    """The methods whose band is drawn: all of a few, else the two that the paper sets apart."""
    if bands == "all" or len(methods) <= _MOST_BANDS:
        return methods
    return [name for name in methods if name.removesuffix("+v") in ("gp-var", "egp-multiafs")]


def wants_log(values: Array) -> bool:
    """Whether mean curves of NMSE, all their values in a row, read better on a logarithmic axis."""
    known = values[np.isfinite(values)]
    return bool(len(known) and known.min() > 0 and known.max() > _LOG_RATIO * known.min())


def nmse_limits(values: Array, log: bool) -> tuple[float, float]:
    """Where the NMSE axis starts and ends."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if log:
        margin = (high / low) ** 0.05
        return low / margin, high * margin
    margin = 0.08 * (high - low) or 0.05 * high or 0.05
    return max(low - margin, 0.0), high + margin


def npll_limits(curves: Iterable[Array]) -> tuple[float, float]:
    """Where the NPLL axis starts and ends."""
    known = [curve[np.isfinite(curve)] for curve in curves]
    peaks = np.array([curve.max() for curve in known if len(curve)])
    if not len(peaks):
        return 0.0, 1.0
    low = min(float(curve.min()) for curve in known if len(curve))
    height = max(float(np.median(peaks)) - low, 0.1)
    high = float(peaks[peaks <= low + _TALLEST * height].max())
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin
