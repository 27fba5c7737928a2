"""Templates: everything is escaped; numbers and times as people read them."""

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi.templating import Jinja2Templates
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from weal import __version__
from weal.diagnostics.wording import number, percent, plus_minus

FOLDER = Path(__file__).with_name("templates")
DASH = "\N{EN DASH}"  # where there is nothing
_STEPS = ((60, "s"), (60, "min"), (24, "h"), (365, "d"))


def make_templates() -> Jinja2Templates:
    """The templates of this folder."""
    env = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    env.globals["version"] = __version__
    env.filters |= {
        "number": shown_number,
        "percent": percent,
        "plus_minus": lambda mean, sd: plus_minus(mean, sd),
        "segment": lambda text: quote(text, safe=""),
        "ago": ago,
        "json": lambda value: json.dumps(value, allow_nan=False),
        "cell": cell,
        "duration": duration,
    }
    return Jinja2Templates(env=env)


def shown_number(value: Any, digits: int = 4) -> str:
    """A number to so many digits; a dash where there is none.

    >>> shown_number(312.4567), shown_number(None), shown_number(float("nan"))
    ('312.5', '–', '–')
    """
    if value is None or not math.isfinite(value):
        return DASH
    return number(float(value), digits)


def cell(value: Any) -> str:
    """A cell of a table as people read it.

    >>> cell(None), cell(True), cell(0.30000000000000004), cell("grade A"), cell(1200)
    ('–', 'yes', '0.3', 'grade A', '1200')
    """
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def duration(seconds: float) -> str:
    """A length of time, in one unit.

    >>> duration(4.2), duration(90), duration(600), duration(7200)
    ('4 s', '90 s', '10 min', '2 h')
    """
    for size, unit in ((7200, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds / {'h': 3600, 'min': 60}[unit]:.0f} {unit}"
    return f"{seconds:.0f} s"


def ago(time: datetime, now: datetime) -> str:
    """How long ago that was, in one unit.

    >>> from datetime import UTC
    >>> ago(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 3, tzinfo=UTC))
    '3 h ago'
    """
    left = (now - time).total_seconds()
    if left < 1.0:
        return "just now"
    for size, unit in _STEPS:
        if left < size:
            return f"{left:.0f} {unit} ago"
        left /= size
    return f"{left:.0f} y ago"
