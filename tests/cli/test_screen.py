"""The table of rows that were asked fits the terminal, whatever kind it is."""

from datetime import UTC, datetime

import pytest

from weal.campaign.suggestions import LeasedRow
from weal.cli import screen
from weal.cli.commands import ask
from weal.quantities.number import Number

INPUTS = ["carbon", "manganese", "chromium", "molybdenum", "nickel", "temper_temp", "temper_hours"]


def asked(name):
    row = dict.fromkeys(INPUTS, 0.358)
    now = datetime(2026, 11, 17, 9, 30, tzinfo=UTC)
    known = (271.1, 8.9, 256.0, 286.0)
    return LeasedRow(name, row, "ann", now, now, False, *known, {}, {}, (), (), "near")


@pytest.mark.parametrize("term", ["dumb", "xterm"])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("columns", [60, 80, 100, 140])
def test_no_cell_is_folded(monkeypatch, capsys, term, again, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(ask, "on_a_terminal", lambda: True)
    monkeypatch.setattr(screen, "on_a_terminal", lambda: True)
    ask.show_suggestions([asked("A-0384"), asked("A-0059")], [Number("hardness")], INPUTS, again)
    header, first, second, *below = capsys.readouterr().out.splitlines()
    assert header.startswith("id")
    assert "271.1 +- 8.9" in first
    assert second.startswith("A-0059")
    assert below[0] == "A-0384: near"
    assert all(len(line.rstrip()) <= columns for line in (header, first, second))
