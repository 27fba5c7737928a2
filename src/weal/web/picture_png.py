"""The job `png`: a picture drawn by matplotlib, for people who cannot use SVG.

The worker draws the shapes of a `picture.Picture` as a file has them: the same colours, title and
legend. matplotlib is imported here alone, when a PNG is asked for. Text is never read as formulas
(`$` in a column's name), and letters that the font lacks are drawn as boxes.
"""

import base64
import io
import warnings
from typing import TYPE_CHECKING, Any

from weal.errors import WealError
from weal.progress import Progress
from weal.tables.text_records import escape_control_characters
from weal.web.job_context import Arguments, JobContext
from weal.web.picture import (
    FONT_PIXELS,
    STYLES,
    TICK_PIXELS,
    Line,
    Mark,
    Path,
    Picture,
    Rectangles,
    Shape,
    Text,
    Verticals,
    from_json,
    mark_corners,
    surroundings,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PIXELS_PER_INCH, SCALE = 100.0, 2.0  # of the picture, and pixels of the file for each of these
POINTS_PER_PIXEL = 72.0 / PIXELS_PER_INCH
Corner = tuple[bool, float, float]
_ALIGNED = {"start": "left", "middle": "center", "end": "right"}


def draw_png(context: JobContext, arguments: Arguments, progress: Progress) -> str:
    """The PNG of a picture, as base64."""
    return base64.b64encode(png_bytes(from_json(arguments["picture"]))).decode()


def png_bytes(picture: Picture) -> bytes:
    """The picture as a PNG file."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise WealError(
            "a PNG is drawn by matplotlib, which this server does not have: take the SVG, or "
            "install it with `pip install 'weal[campaign]'`"
        ) from error
    above, below, drawn = surroundings(picture)
    height = picture.height + above + below
    figure = Figure(
        (picture.width / PIXELS_PER_INCH, height / PIXELS_PER_INCH), SCALE * PIXELS_PER_INCH
    )
    canvas, axes = FigureCanvasAgg(figure), figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, picture.width)
    axes.set_ylim(picture.height + below, -above)
    for n, shape in enumerate((*picture.shapes, *drawn)):
        _draw(axes, shape, n)
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        canvas.print_png(  # type: ignore[no-untyped-call]
            file, metadata={"Title": picture.title[:500], "Software": "weal"}
        )
    return file.getvalue()


def _draw(axes: "Axes", shape: Shape, order: int) -> None:
    """Add a shape to the axes."""
    from matplotlib.patches import Circle, PathPatch
    from matplotlib.path import Path as Outline

    if isinstance(shape, Text):
        return _draw_text(axes, shape, order)
    look = _look(shape.style, order)
    if isinstance(shape, Mark) and shape.shape == "circle":
        axes.add_patch(Circle((shape.x, shape.y), shape.size, **look))
    elif corners := _corners(shape):
        codes = [Outline.MOVETO if start else Outline.LINETO for start, _, _ in corners]
        axes.add_patch(PathPatch(Outline([(x, y) for _, x, y in corners], codes), **look))
    return None


def _corners(shape: Line | Path | Rectangles | Verticals | Mark) -> list[Corner]:
    """The corners of a shape; True begins a new line."""
    if isinstance(shape, Mark):
        found = mark_corners(shape)
        return found if shape.shape == "cross" else [*found, (False, *found[0][1:])]
    if isinstance(shape, Line):
        return [(True, shape.x1, shape.y1), (False, shape.x2, shape.y2)]
    if isinstance(shape, Path):
        points = [*shape.points, *(shape.points[:1] if shape.closed else ())]
        return [(n == 0, x, y) for n, (x, y) in enumerate(points)]
    if isinstance(shape, Verticals):
        return [end for x, a, b in shape.each for end in ((True, x, a), (False, x, b))]
    return [corner for one in shape.each for corner in _box(*one)]


def _box(x: float, y: float, w: float, h: float) -> list[Corner]:
    return [(True, x, y), (False, x + w, y), (False, x + w, y + h), (False, x, y + h),
            (False, x, y)]  # fmt: skip


def _look(style: str, order: int) -> dict[str, Any]:
    """A style as arguments of a patch."""
    from matplotlib.colors import to_rgba

    own = STYLES.get(style, STYLES["name"])

    def colour(name: str) -> Any:
        given = own.get(name, "none")
        return "none" if given == "none" else to_rgba(given, float(own.get(f"{name}-opacity", 1)))

    width = float(own.get("stroke-width", 1)) * POINTS_PER_PIXEL
    dashes = own.get("stroke-dasharray")
    pattern = (0, [float(one) for one in dashes.split()]) if dashes else "solid"
    return {"facecolor": colour("fill"), "edgecolor": colour("stroke"), "linewidth": width,
            "linestyle": pattern, "zorder": order}  # fmt: skip


def _draw_text(axes: "Axes", shape: Text, order: int) -> None:
    size = FONT_PIXELS.get(shape.style, TICK_PIXELS) * POINTS_PER_PIXEL
    colour = STYLES.get(shape.style, STYLES["name"])["fill"]
    words = " ".join(escape_control_characters(shape.words).split())
    axes.text(
        shape.x, shape.y, words, size=size, color=colour,
        ha=_ALIGNED[shape.anchor], va="baseline", rotation=90.0 if shape.turned else 0.0,
        rotation_mode="anchor", parse_math=False, zorder=order,
    )  # fmt: skip
