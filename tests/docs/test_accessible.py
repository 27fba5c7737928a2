"""Repairs of a page's HTML (docs/_ext/accessible.py), and headings as check_site.py wants them."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
repaired = runpy.run_path(str(DOCS / "_ext" / "accessible.py"))["repaired"]


@pytest.mark.parametrize(
    ("written", "repair"),
    [
        ('<th class="head"><p></p></th>', '<td class="head"></td>'),
        ("<th></th>", "<td></td>"),
        ("<th>\n</th>", "<td></td>"),
        ('<summary aria-label="Toggle hidden content">\n<p>Code</p>', "<summary>\n<p>Code</p>"),
    ],
)
def test_what_a_screen_reader_stumbles_over_is_repaired(written, repair):
    assert repaired(written) == repair


@pytest.mark.parametrize(
    "sound",
    [
        '<th class="head"><p>yield</p></th>',
        "<thead><tr></tr></thead>",
        '<th><img alt="x" src="y"></th>',
        '<summary aria-label="Other">',
        "<p></p>",
    ],
)
def test_the_rest_stays(sound):
    assert repaired(sound) == sound
