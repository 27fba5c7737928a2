"""What `scripts/check_site.py` finds wrong with a site, and what it does not mind."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_site.py"


@pytest.fixture(scope="module")
def check_site():
    spec = importlib.util.spec_from_file_location("check_site", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path, check_site, constants):
    """A sound site of two pages beside a sound README."""
    constants(check_site, ROOT=tmp_path)
    check_site.page_of.cache_clear()
    (tmp_path / "README.md").write_text("# A title, or two\n\n[here](#a-title-or-two)\n")
    top = tmp_path / "html"
    (top / "more").mkdir(parents=True)
    (top / "index.html").write_text(
        '<link rel="stylesheet" href="a.css?v=1"><a href="more/b.html#x%20y">to</a>'
        '<h1>A</h1><a href="https://example.org/">out</a><a href="#">up</a><p style="color: red">'
    )
    (top / "more" / "b.html").write_text(
        '<h1 id="x y"></h1><a href="../index.html">back</a><img src="data:image/gif;base64,R0lG">'
    )
    (top / "a.css").write_text("/* url(https://example.org/x.png) */ p { background: none }")
    return top


def found(check_site, site, text, file="index.html"):
    (site / file).write_text(f"<h1>A</h1>{text}" if file.endswith(".html") else text)
    return [line.rpartition(": ")[2] for line in check_site.static(site)]


def test_a_sound_site_is_found_sound(check_site, site):
    assert check_site.static(site) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('<a href="more/c.html">', "is not there"),
        ('<a href="more/b.html#z">', "has no such anchor"),
        ('<a href="#z">', "has no such anchor"),
        ('<a href="../../outside.html">', "is not there"),
        ('<a href="more/">', "is a folder, which only a server turns into a page"),
        ('<a href="/more/b.html">', "begins at the root of a server"),
        ('<img src="lost.png">', "is not there"),
        ('<img srcset="a.css 1x, lost.png 2x">', "is not there"),
        ('<script src="https://example.org/x.js"></script>', "is loaded from another host"),
        ('<script src="//example.org/x.js"></script>', "is loaded from another host"),
        ('<link rel="stylesheet" href="http://example.org/x.css">', "is loaded from another host"),
        ("<style>@import 'https://example.org/x.css';</style>", "is loaded from another host"),
        ('<p style="background: url(https://example.org/x.png)">', "is loaded from another host"),
        ('<svg><image href="https://example.org/x.png"/></svg>', "is loaded from another host"),
    ],
)
def test_what_is_wrong_with_a_page_is_named(check_site, site, text, says):
    assert found(check_site, site, text) == [says]


def test_style_sheets_and_files_beside_the_site_are_looked_at(check_site, site):
    assert found(check_site, site, "p { background: url('x.png') }", "a.css") == ["is not there"]
    (site / "a.css").write_text("")
    check_site.page_of.cache_clear()
    text = "# One\n[a](#two) [b](html/index.html) [c](no.md)\n```\n[d](in-code.md)\n```\n"
    assert found(check_site, site, text, "../README.md") == ["has no such anchor", "is not there"]


@pytest.mark.parametrize(("text", "count"), [("<h2>a</h2>", 0), ("<h1>a</h1><h1>b</h1>", 2)])
def test_a_page_has_one_title(check_site, site, text, count):
    (site / "index.html").write_text(text)
    assert check_site.static(site) == [f"index.html: {count} headings of the first level, not one"]
