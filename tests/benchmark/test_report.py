import re
from html.parser import HTMLParser
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from reference.made_up import SETTING, ends, run, table, weights
from weal.benchmark.paper_claims import BASELINE, EGP
from weal.benchmark.report import write
from weal.benchmark.report_tables import final_tables, labels_tables

EVIL = "<script>alert('x')</script>&\""
RESULTS = ends({(task, m): 0.5 for task in ("higdon", "diabetes") for m in (BASELINE, *EGP)})
WEIGHTS = weights(["higdon"])
VOID = {"meta", "img"}


class Reader(HTMLParser):
    """Tags, their attributes and the text of a page; fails when tags are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("bench") / "out"
    skipped = {"california": "weal bench get california", "botorch-var": 'pip install "weal"'}
    write(out, RESULTS, WEIGHTS, SETTING | {"skipped": skipped})
    return out


@pytest.fixture(scope="module")
def page(folder):
    return Reader((folder / "report.html").read_text(encoding="utf-8"))


def test_the_folder_has_the_report_its_figures_and_its_tables(folder):
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    figures = ("synthetic", "real", "expert-weights", "acquisition-weights")
    assert names == {
        ".weal-folder",
        "report.html",
        "results.csv",
        "results.parquet",
        "weights.parquet",
        "claims.csv",
        *(f"figures/{name}.{kind}" for name in figures for kind in ("png", "svg")),
    }


def test_tables_come_back_as_they_were(folder):
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "results.parquet"), RESULTS)
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "weights.parquet"), WEIGHTS)
    pd.testing.assert_frame_equal(pd.read_csv(folder / "results.csv"), RESULTS)


def test_the_page_fetches_nothing(page):
    assert not {"script", "link", "iframe", "object", "base"} & set(page.tags)
    links = [value for name, value in page.attributes if name in ("src", "href", "srcset")]
    assert len(links) == 4
    assert all(value.startswith("data:image/svg+xml;base64,") for value in links)
    styles = [value for name, value in page.attributes if name == "style"]
    assert not any("url(" in style for style in styles)
    assert not any(name.startswith("on") for name, _ in page.attributes)


def test_the_page_says_what_was_run_and_what_was_left_out(page):
    for text in (
        "weal bench paper --out <here>",
        "2 tasks, 7 methods, 8 realisations, at most 2 queries a run; seed 3; 1 min 15 s",
        "California housing: weal bench get california",
        *([] if find_spec("botorch") else ['botorch-var: pip install "weal"']),
        "a <small> one",
        "every realisation uses all 442 rows",
    ):
        assert text in page.text


def test_the_page_has_every_section_in_order(page):
    sections = (
        "The paper's claims",
        "Figures",
        "Final tables",
        "Labels needed",
        "Area under the curve",
        "Time",
        "Versions",
    )
    places = [page.text.index(section) for section in sections]
    assert places == sorted(places)
    for number in range(1, 7):
        assert f"{number}" in page.text
    assert "none of its tasks was run" in page.text
    assert "All 187 comparisons behind the table" in page.text


def test_pictures_have_words_for_those_who_cannot_see_them(page):
    texts = [value for name, value in page.attributes if name == "alt"]
    assert len(texts) == page.tags.count("img") == 4
    assert all(len(text) > 30 for text in texts)


def test_names_are_escaped_wherever_they_appear(tmp_path):
    results = table(*(run(EVIL, m, r, [1.0, 0.5]) for m in (EVIL, "random") for r in range(2)))
    own = weights([EVIL], method=EVIL)
    own["name"] = own["name"] + EVIL
    setting = SETTING | {"skipped": {EVIL: EVIL}, "command": EVIL, "versions": {EVIL: EVIL}}
    path = write(tmp_path, results, own, setting)
    page = Reader(path.read_text(encoding="utf-8"))
    assert "script" not in page.tags
    assert page.text.count(EVIL) > 10


def test_claims_are_left_out_when_no_task_of_the_paper_was_asked_for(tmp_path):
    results = table(*(run("mine", m, r, [1.0, 0.5]) for m in ("random", "qbc") for r in range(2)))
    page = Reader(write(tmp_path, results, WEIGHTS[:0], SETTING).read_text(encoding="utf-8"))
    assert "claims" not in page.text
    assert "splits of the same rows" in page.text


def test_the_best_is_bold_and_ties_are_marked():
    noise = np.array([0.3, -0.2, 0.1, -0.3, 0.2, -0.1, 0.25, -0.25])
    runs = [run("branin", "gp-var", r, [1, 0.5 + e]) for r, e in enumerate(noise)]
    runs += [run("branin", "random", r, [1, 0.51 - e]) for r, e in enumerate(noise)]
    runs += [run("branin", "egp-qbc", r, [1, 0.6 + e]) for r, e in enumerate(noise)]
    html = final_tables(table(*runs), seed=1)
    # sd: sqrt(0.405 / 7)
    assert "<td><b>0.5 ± 0.241</b></td>" in html
    assert "<td>0.51 ± 0.241 ≈</td>" in html
    assert "<td>0.6 ± 0.241</td>" in html
    assert "<small>median 0.5</small>" in html


def test_labels_needed_say_how_many_got_there():
    runs = [run("branin", "gp-var", r, [1, 0.9, 0.15 if r else 0.9]) for r in range(3)]
    runs += [run("branin", "random", r, [1, 0.4, 0.9 if r else 0.19]) for r in range(3)]
    html = labels_tables(table(*runs))
    rows = [re.sub("<[^>]+>", "|", row) for row in html.split("<tr>")]
    assert "Branin (no run reached 0.1, 0.05, 0.01)" in html
    assert "|GP-Var||12 (2 of 3)||12 (2 of 3)||12|" in rows[2]
    assert "|EGP, random||11||- (1 of 3)||12|" in rows[3]


def test_one_run_of_one_query_without_weights_has_a_report(tmp_path):
    alone = table(run("higdon", "random", 0, [0.5, 0.4]))
    path = write(tmp_path, alone, WEIGHTS[:0], SETTING | {"realisations": 1, "T": 1})
    assert "1 task, 1 method, 1 realisation" in Reader(path.read_text(encoding="utf-8")).text


def test_nothing_is_written_when_the_report_cannot_be_made(tmp_path):
    out, small = tmp_path / "out", table(run("higdon", "random", 0, [0.5, 0.4]))
    with pytest.raises(ValueError, match="no nmse"):
        write(out, small.drop(columns="nmse"), WEIGHTS, SETTING)
    with pytest.raises(KeyError, match="versions"):
        write(out, small, WEIGHTS[:0], {k: v for k, v in SETTING.items() if k != "versions"})
    assert not out.exists()


def test_a_report_that_is_there_stays_whole_when_the_disk_fails(tmp_path, monkeypatch):
    small = table(run("higdon", "random", 0, [0.5, 0.4]))
    path = write(tmp_path, small, WEIGHTS[:0], SETTING)
    before = path.read_bytes()

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write(tmp_path, small.assign(nmse=0.1), WEIGHTS[:0], SETTING)
    assert path.read_bytes() == before
    assert not list(tmp_path.rglob("*.draft"))


def test_the_same_results_give_the_same_report(tmp_path):
    small = table(*(run("higdon", m, r, [0.5, 0.4]) for m in ("random", "gp-var") for r in (0, 1)))
    pages = [write(tmp_path / name, small, WEIGHTS[:0], SETTING).read_bytes() for name in "ab"]
    assert pages[0] == pages[1]
