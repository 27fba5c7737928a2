"""A picture as data: shapes on a plane of pixels, a legend, and the table behind them.

    picture_svg     SVG: part of a page, styled by CSS, with a link for each row; or a file that
                    needs no other file (colours as attributes, a title and a legend, no links)
    picture_csv     the table as CSV; no cell runs as a formula in a spreadsheet
    to_json         the picture for the job `png` (`picture_png`)

A mark with an id is a row: its title names it on hover, a click opens its page. The first of the
marks of a picture takes part in the tab order, and arrow keys lead to the others (`charts.js`).
Text of users enters SVG escaped; control characters, which XML does not have, as escapes.
"""

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal
from urllib.parse import quote

from weal.tables import text_records

MarkShape = Literal["circle", "square", "diamond", "cross", "triangle"]
MARK_SHAPES: tuple[MarkShape, ...] = ("circle", "square", "diamond", "triangle", "cross")
SHADE_COLOURS = (
    "#fde3c4", "#f6cda3", "#e8b68d", "#d39f82", "#b98b7e", "#98797f", "#766880", "#54577c",
    "#31456f",
)  # fmt: skip
INK, SOFT, LINE, ACCENT, BAD = "#1b2430", "#5a6675", "#d9dee5", "#0b6b64", "#a3261b"
Attributes = dict[str, str]
STYLES: dict[str, Attributes] = {  # of a file; pages have the same classes in pictures.css
    "plain": {"fill": "none", "stroke": LINE},
    "axis": {"fill": "none", "stroke": LINE},
    "dashed": {"fill": "none", "stroke": SOFT, "stroke-dasharray": "5 5"},
    "whisker": {"fill": "none", "stroke": ACCENT, "stroke-opacity": "0.4", "stroke-width": "2"},
    "level": {"fill": "none", "stroke": ACCENT, "stroke-opacity": "0.25", "stroke-width": "10"},
    "accent": {"fill": "none", "stroke": ACCENT, "stroke-width": "2.5"},
    "second": {"fill": "none", "stroke": "#b26a00", "stroke-width": "1.5"},
    "third": {"fill": "none", "stroke": "#6b7688", "stroke-width": "1.5"},
    "second-fill": {"fill": "#b26a00", "stroke": "none"},
    "third-fill": {"fill": "#6b7688", "stroke": "none"},
    "band": {"fill": ACCENT, "fill-opacity": "0.25", "stroke": "none"},
    "bar": {"fill": ACCENT, "fill-opacity": "0.75", "stroke": "none"},
    "bar-soft": {"fill": SOFT, "fill-opacity": "0.55", "stroke": "none"},
    "ink": {"fill": "none", "stroke": INK, "stroke-width": "2"},
    "dot": {"fill": ACCENT, "stroke": "none"},
    "dot off": {"fill": BAD, "stroke": "none"},
    "candidate": {"fill": SOFT, "fill-opacity": "0.45", "stroke": "none"},
    "mark": {"fill": "#ffffff", "stroke": INK, "stroke-width": "1.6"},
    "next": {"fill": "none", "stroke": ACCENT, "stroke-width": "3"},
    "failed": {"fill": "none", "stroke": BAD, "stroke-width": "2.4"},
    "tick": {"fill": SOFT},
    "name": {"fill": INK},
    "value": {"fill": INK},
}
STYLES |= {f"shade-{n}": {"fill": one, "stroke": "none"} for n, one in enumerate(SHADE_COLOURS)}
STYLES |= {
    f"label-{n}": {"fill": one, "stroke": INK, "stroke-width": "1.6"}
    for n, one in enumerate(SHADE_COLOURS)
}
FONT_PIXELS = {"name": 13.0, "value": 15.0, "title": 15.0}
TICK_PIXELS, TITLE_PIXELS, LEGEND_PIXELS, LETTER_PIXELS = 12.0, 30.0, 24.0, 6.4
FONT = "system-ui, sans-serif"


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    style: str


@dataclass(frozen=True, slots=True)
class Path:
    """A line through points, or the polygon between them."""

    points: tuple[tuple[float, float], ...]
    style: str
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Rectangles:
    """Rectangles (x, y, width, height) of one style."""

    each: tuple[tuple[float, float, float, float], ...]
    style: str


@dataclass(frozen=True, slots=True)
class Verticals:
    """Vertical lines (x, y1, y2) of one style."""

    each: tuple[tuple[float, float, float], ...]
    style: str


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text."""

    x: float
    y: float
    words: str
    style: str = "tick"
    anchor: Literal["start", "middle", "end"] = "middle"
    turned: bool = False  # read from below


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark at a point; with an id it stands for a row."""

    x: float
    y: float
    style: str
    shape: MarkShape = "circle"
    size: float = 4.5  # half its width
    id: str = ""
    title: str = ""
    event: int = 0  # number of the event that brought it; 0: it does not move


Shape = Line | Path | Rectangles | Verticals | Text | Mark


@dataclass(frozen=True, slots=True)
class Legend:
    """The meaning of a mark."""

    shape: MarkShape
    style: str
    words: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Shapes, their legend, and the table that they show."""

    which: str  # its name in addresses
    title: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    legend: tuple[Legend, ...] = ()
    note: str = ""  # a sentence below it


def picture_csv(picture: Picture) -> str:
    """The table of a picture as CSV (RFC 4180)."""
    file = io.StringIO()
    writer = csv.writer(file)
    for row in (picture.columns, *picture.rows):
        writer.writerow([text_records.escape(one) if isinstance(one, str) else one for one in row])
    return file.getvalue()


def picture_svg(picture: Picture, row_address: str | None = None, css_class: str = "") -> str:
    """The picture as SVG: for a page whose rows have this address, or as a file without one."""
    if row_address is None:
        return _svg_file(picture)
    first = next((one for one in picture.shapes if isinstance(one, Mark) and one.id), None)
    body = "".join(
        _linked(one, row_address, one is first) if isinstance(one, Mark) and one.id else _svg(one)
        for one in picture.shapes
    )
    digest = hashlib.blake2b(
        f"{body}{picture.note}".encode("utf-8", "replace"), digest_size=6
    ).hexdigest()
    title, which = escape(picture.title), escape(picture.which)
    named = f'role="group" aria-label="{title}" data-which="{which}" data-digest="{digest}"'
    size = f"0 0 {picture.width:g} {picture.height:g}"
    own = f"picture {css_class}".strip()
    hidden = 'aria-hidden="true"'  # a key of a legend
    return f'<svg class="{own}" viewBox="{size}" {named if which else hidden}>{body}</svg>'


def legend_rows(picture: Picture) -> list[list[tuple[float, Legend]]]:
    """The lines of a legend: the position of each mark, and the mark."""
    rows: list[list[tuple[float, Legend]]] = []
    x = picture.width
    for one in picture.legend:
        width = 26.0 + LETTER_PIXELS * len(one.words)
        if x + width > picture.width - 8.0:
            rows.append([])
            x = 16.0
        rows[-1].append((x, one))
        x += width + 12.0
    return rows


def surroundings(picture: Picture) -> tuple[float, float, list[Shape]]:
    """Pixels above and below a picture in a file, and the title and legend drawn there."""
    rows = legend_rows(picture)
    drawn: list[Shape] = [Text(12.0, -10.0, picture.title, "title", "start")]
    for n, row in enumerate(rows):
        y = picture.height + LEGEND_PIXELS * (n + 0.5)
        for x, one in row:
            drawn.append(Mark(x, y, one.style, one.shape))
            drawn.append(Text(x + 12.0, y + 4.0, one.words, "tick", "start"))
    return TITLE_PIXELS, LEGEND_PIXELS * len(rows) + 6.0, drawn


def _svg_file(picture: Picture) -> str:
    above, below, drawn = surroundings(picture)
    height = picture.height + above + below
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 {-above:g} {picture.width:g} {height:g}" width="{picture.width:g}" '
        f'height="{height:g}" font-family="{FONT}"><title>{_plain(picture.title)}</title>'
        f'<rect y="{-above:g}" width="{picture.width:g}" height="{height:g}" fill="#ffffff"/>\n'
    )
    parts = [_svg(one, is_file=True) for one in (*picture.shapes, *drawn)]
    return "\n".join((head, *parts, "</svg>\n"))


def _plain(words: str) -> str:
    """Text for XML."""
    return escape(text_records.escape_control_characters(words))


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".") if value % 1.0 else f"{value:.0f}"


def _look(style: str, is_file: bool, text: bool = False) -> str:
    """The class of a shape on a page, or its attributes in a file."""
    if not is_file:
        return f' class="{style}"' if style and style != "tick" else ""
    found = dict(STYLES.get(style, STYLES["name"]))
    if text:
        found["font-size"] = f"{FONT_PIXELS.get(style, TICK_PIXELS):g}"
    return "".join(f' {name}="{value}"' for name, value in found.items())


def _svg(shape: Shape, is_file: bool = False) -> str:
    """A shape as SVG."""
    look = _look(shape.style, is_file, isinstance(shape, Text))
    if isinstance(shape, Line):
        x1, y1, x2, y2 = map(_number, (shape.x1, shape.y1, shape.x2, shape.y2))
        return f'<line{look} x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'
    if isinstance(shape, Path):
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
        return f'<{"polygon" if shape.closed else "polyline"}{look} points="{points}"/>'
    if isinstance(shape, Rectangles):
        return f'<path{look} d="{"".join(map(_rectangle, shape.each))}"/>'
    if isinstance(shape, Verticals):
        each = (f"M{_number(x)} {_number(a)}V{_number(b)}" for x, a, b in shape.each)
        return f'<path{look} d="{"".join(each)}"/>'
    if isinstance(shape, Text):
        return _text(shape, look)
    title = f"<title>{_plain(shape.title)}</title>" if shape.title else ""
    return _mark(shape, look, title)


def _rectangle(one: tuple[float, float, float, float]) -> str:
    x, y, width, height = map(_number, one)
    return f"M{x} {y}h{width}v{height}h-{width}z"


def _text(shape: Text, look: str) -> str:
    x, y, anchor = _number(shape.x), _number(shape.y), shape.anchor
    at = f'x="{x}" y="{y}"'
    if shape.turned:
        at = f'transform="translate({x} {y}) rotate(-90)"'
    return f'<text{look} {at} text-anchor="{anchor}">{_plain(shape.words)}</text>'


def _mark(shape: Mark, look: str, inside: str) -> str:
    if shape.shape == "circle":
        x, y, r = map(_number, (shape.x, shape.y, shape.size))
        return f'<circle{look} cx="{x}" cy="{y}" r="{r}">{inside}</circle>'
    corners = " ".join(
        f"{'M' if start else 'L'}{_number(x)} {_number(y)}" for start, x, y in mark_corners(shape)
    )
    return f'<path{look} d="{corners}{"" if shape.shape == "cross" else "z"}">{inside}</path>'


def mark_corners(mark: Mark) -> list[tuple[bool, float, float]]:
    """The corners of a mark that is not a circle; True begins a new line."""
    r, x, y = mark.size, mark.x, mark.y
    each: dict[str, Sequence[tuple[bool, float, float]]] = {
        "square": ((True, -0.9, -0.9), (False, 0.9, -0.9), (False, 0.9, 0.9), (False, -0.9, 0.9)),
        "diamond": ((True, 0, -1.3), (False, 1.3, 0), (False, 0, 1.3), (False, -1.3, 0)),
        "triangle": ((True, 0, -1.2), (False, 1.1, 0.8), (False, -1.1, 0.8)),
        "cross": ((True, -1, -1), (False, 1, 1), (True, -1, 1), (False, 1, -1)),
    }
    return [(start, x + a * r, y + b * r) for start, a, b in each[mark.shape]]


def _linked(mark: Mark, row_address: str, is_first: bool) -> str:
    """A mark as a link to its row."""
    event = f' data-event="{mark.event}"' if mark.event else ""
    tab = "" if is_first else ' tabindex="-1"'
    joined = "&amp;" if "?" in row_address else "?"
    href = f"{escape(row_address)}{joined}id={quote(mark.id, safe='')}"
    return f'<a href="{href}"{tab}{event}>{_svg(mark)}</a>'


def to_json(picture: Picture) -> dict[str, Any]:
    """The picture as JSON."""
    shapes = [{"is": type(one).__name__, **asdict(one)} for one in picture.shapes]
    return {**asdict(picture), "shapes": shapes, "rows": []}


def from_json(body: dict[str, Any]) -> Picture:
    """The picture of `to_json`, without its table."""
    kinds: dict[str, Any] = {
        one.__name__: one for one in (Line, Path, Rectangles, Verticals, Text, Mark)
    }
    shapes = []
    for one in body["shapes"]:
        values = {name: value for name, value in one.items() if name != "is"}
        for name in ("points", "each"):
            if name in values:
                values[name] = tuple(map(tuple, values[name]))
        shapes.append(kinds[one["is"]](**values))
    legend = tuple(Legend(**one) for one in body["legend"])
    own = {"shapes": tuple(shapes), "legend": legend, "columns": tuple(body["columns"]), "rows": ()}
    return Picture(**{**body, **own})


def truncated(words: str, longest: int) -> str:
    """The beginning of a text."""
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def evenly(things: Sequence[Any], most: int) -> list[Any]:
    """At most so many of these, evenly spaced, the last one among them."""
    n = len(things)
    if n <= most:
        return list(things)
    return [things[n - 1 - (k * (n - 1)) // (most - 1)] for k in range(most - 1, -1, -1)]
