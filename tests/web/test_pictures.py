"""Pictures: coordinates, files to take home, hostile names, large pools, every kind of label."""

import csv
import io
import json
import re
import time
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import weal
from campaign.whole_experiment import CRYSTALLISED, PHASE, PURITY, YIELD, ids, measured, teach
from shell import typed
from weal.store.protocol import open_store
from weal.tables.text_records import unescape
from weal.web.candidate_map import candidate_map_of
from weal.web.job_context import JobContext
from weal.web.map_picture import map_picture
from weal.web.picture import (
    Line,
    Mark,
    Path,
    Picture,
    Text,
    from_json,
    picture_csv,
    picture_svg,
    to_json,
)
from weal.web.picture_png import png_bytes
from web.conftest import begin
from web.visiting import PATIENCE, Visitor, plain

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>", '"><svg onload=alert(1)>', "=cmd|' /C calc'!A0", "a\x07b",
    "\u202eright", "$x^{2}$", "x" * 10_000, "'; DROP TABLE ev;--", "../../etc/passwd",
    "emoji \U0001f600", "@SUM(A1)", "-3",
]  # fmt: skip


@pytest.fixture
def labelled(url, tmp_path):
    """A campaign with a model, whose last six labels were asked for."""
    begin(url, tmp_path, rows=60)
    with weal.open_campaign("steel", url, by="bob") as campaign:
        for k in range(12):
            campaign.tell(f"A-{k}", truth(k))
        for _ in range(6):
            name = campaign.ask()
            campaign.tell(name, truth(int(name[2:])))
        campaign.ask(2)
    return url


def truth(k):
    return (k % 17 - 3.5) ** 2 + k % 5


def wait_for(visitor, path):
    """The answer once the worker has computed it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = visitor.get(path)
        if answer.status_code not in (204, 503):
            return answer
        time.sleep(0.2)
    raise AssertionError(path)


def table(answer):
    """The rows of a CSV file, each a dict."""
    assert answer.headers["content-type"].startswith("text/csv")
    found = csv.DictReader(io.StringIO(answer.text, newline=""))
    return [{unescape(name): unescape(cell) for name, cell in row.items()} for row in found]


def marks(svg, tag="circle"):
    """Title and position of each mark with a title."""
    root = ET.fromstring(svg)
    found = {}
    for one in root.iter(f"{SVG}{tag}"):
        title = one.find(f"{SVG}title")
        if title is not None:
            found[title.text] = (float(one.get("cx")), float(one.get("cy")))
    return found


def is_linear(values, places):
    """Whether positions are a linear function of values, to a tenth of a pixel."""
    slope, at = np.polyfit(values, places, 1)
    return np.abs(slope * np.asarray(values) + at - places).max() < 0.11


def test_files_have_the_points_of_the_data(servers, labelled):
    """The SVG of each picture parsed back: positions are linear in what the CSV file has."""
    with Visitor(servers.start(labelled, worker="here")) as eve:
        rows = table(wait_for(eve, "/c/steel/picture/candidates.csv?x=temp&y=hours"))
        kinds = pd.Series([row["kind"] for row in rows]).value_counts()
        assert dict(kinds) == {"measured": 18, "next": 2, "candidate": 40}
        places = marks(eve.get("/c/steel/picture/candidates.svg?x=temp&y=hours").content)
        known = {title.split(":")[0]: place for title, place in places.items()}
        circles = [row for row in rows if row["kind"] != "next"]
        assert set(known) == {row["id"] for row in circles}
        for k, column in enumerate(("temp", "hours")):
            assert is_linear(
                [float(row[column]) for row in circles], [known[row["id"]][k] for row in circles]
            )
        for row in rows:
            k = int(row["id"][2:])
            assert (float(row["temp"]), float(row["hours"])) == (k % 17 - 3.5, k % 5)
            assert float(row["measured"] or truth(k)) == truth(k)

        rows = table(wait_for(eve, "/c/steel/picture/predicted.csv"))
        assert len(rows) == 18
        svg = eve.get("/c/steel/picture/predicted.svg").content
        inside = [
            row for row in rows if float(row["low"]) <= float(row["measured"]) <= float(row["high"])
        ]
        known = {title.split(":")[0]: place for title, place in marks(svg).items()}
        assert set(known) == {row["id"] for row in inside}
        for k, column in enumerate(("measured", "predicted")):
            assert is_linear(
                [float(row[column]) for row in inside], [known[row["id"]][k] for row in inside]
            )

        rows = table(wait_for(eve, "/c/steel/picture/recent.csv"))
        with weal.open_campaign("steel", labelled) as campaign:
            past = campaign.read_ledger().quantity().foretold
        told = [(one.told.id, one.told.y, one.body["low"], one.body["high"]) for one in past]
        assert [
            (row["id"], *(float(row[k]) for k in ("measured", "low", "high"))) for row in rows
        ] == told
        assert wait_for(eve, "/c/steel/picture/curve.csv").text.startswith("labels,leave-one-out")
        assert eve.get("/c/steel/picture/best.csv").status_code == 404  # the goal is learn
        for which in ("candidates", "predicted", "recent", "curve"):
            answer = wait_for(eve, f"/c/steel/picture/{which}.png")
            assert answer.content.startswith(b"\x89PNG\r\n\x1a\n")
            assert answer.headers["content-disposition"].startswith("attachment")
        for name in (
            "passwd",
            "curve.exe",
            "..%2fcurve.svg",
            "curve.svg.svg",
            "curves",
            ".svg",
            "%00.svg",
        ):
            assert eve.get(f"/c/steel/picture/{name}").status_code == 404, name


def test_files_need_no_more_than_reading(servers, labelled, tmp_path):
    """A stranger gets none; a read-only server draws them."""
    server = servers.start(labelled, worker="here", read_only=True)
    with Visitor(server) as eve:
        assert wait_for(eve, "/c/steel/picture/candidates.svg").status_code == 200
        eve.client.cookies.clear()
        assert eve.get("/c/steel/picture/candidates.svg").status_code == 401


def test_the_best_so_far_is_drawn_for_a_goal_that_looks_for_it(servers, labelled):
    with weal.open_campaign("steel", labelled, by="bob") as campaign:
        campaign.change(goal="minimise")
        labels = [one.y for one in campaign.read_ledger().quantity().told()]
    with Visitor(servers.start(labelled, worker="here")) as eve:
        rows = table(wait_for(eve, "/c/steel/picture/best.csv"))
        assert [float(row["measured"]) for row in rows] == labels
        assert [float(row["best so far"]) for row in rows] == list(np.minimum.accumulate(labels))
        svg = eve.get("/c/steel/picture/best.svg").content
        known = {title.split(":")[0]: place for title, place in marks(svg).items()}
        assert is_linear(labels, [known[row["id"]][1] for row in rows])


def test_words_have_shapes_and_failures_too(servers, url):
    with measured(YIELD, PURITY, CRYSTALLISED, PHASE, store=url) as campaign:
        teach(campaign, ids(0, 20))
        campaign.ask_for(["R-30", "R-33"])
        teach(campaign, ["R-30"])
    with Visitor(servers.start(url, worker="here")) as eve:
        for quantity, words in (
            ("crystallised", {"no", "yes"}),
            ("phase", {"alpha", "beta", "gamma"}),
        ):
            rows = table(wait_for(eve, f"/c/runs/picture/candidates.csv?quantity={quantity}"))
            kinds = {row["kind"] for row in rows}
            assert kinds == {"measured", "failed", "next", "candidate"}
            assert {row["measured"] for row in rows if row["kind"] == "measured"} == words
            rows = table(wait_for(eve, f"/c/runs/picture/predicted.csv?quantity={quantity}"))
            assert {row["measured"] for row in rows} == words
            assert all(0.0 <= float(row["probability"]) <= 1.0 for row in rows)
            (row,) = table(wait_for(eve, f"/c/runs/picture/recent.csv?quantity={quantity}"))
            assert row["id"] == "R-30"
            part = wait_for(eve, f"/c/runs/map?quantity={quantity}&x=solvent&y=time+%5Bh%5D").text
            assert 'class="failed" d="M' in part  # a cross
            assert part.count("<path") > 10  # shapes that are no circles
        assert "quantity=phase" in part


def test_the_same_table_comes_back_from_csv_and_nothing_in_it_runs():
    rows = tuple((name, 0.1 + n, None) for n, name in enumerate(HOSTILE))
    text = picture_csv(Picture("x", "t", 10, 10, (), ("id", HOSTILE[2], "none"), rows))
    head, *read = csv.reader(io.StringIO(text, newline=""))
    assert [unescape(one) for one in head] == ["id", HOSTILE[2], "none"]
    assert [(unescape(a), float(b), c) for a, b, c in read] == [(a, b, "") for a, b, _ in rows]
    assert not [cell for row in (head, *read) for cell in row if cell[:1] in tuple("=+-@\t")]


def test_hostile_names_are_text_in_every_format():
    shapes = [Mark(5, 5, "dot", id=name, title=name) for name in HOSTILE]
    shapes += [Text(1, 1, name) for name in HOSTILE]
    shapes += [Line(0, 0, 1, 1, "axis"), Path(((0, 0), (3, 3)), "accent")]
    picture = Picture("x", HOSTILE[0], 100, 80, tuple(shapes), (), ())
    root = ET.fromstring(picture_svg(picture).encode())  # well-formed XML
    tags = ("svg", "title", "rect", "circle", "text", "line", "polyline")
    assert {one.tag for one in root.iter()} == {f"{SVG}{tag}" for tag in tags}
    page = picture_svg(picture, "/c/x/row")
    assert "<script" not in page
    assert "onload=alert(1)>" not in page
    assert page.count("<a ") == len(HOSTILE)
    assert page.count('tabindex="-1"') == len(HOSTILE) - 1
    assert from_json(to_json(picture)).shapes == picture.shapes
    assert png_bytes(picture).startswith(b"\x89PNG")


def test_a_large_pool_is_counted_in_cells(tmp_path):
    """10^5 candidates: a few kB of SVG, and every candidate is in a cell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 3))
    pool = pd.DataFrame({"id": np.arange(len(X)), "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    url = f"sqlite:///{tmp_path}/weal.db"
    with weal.open_campaign(
        "big", url, pool=pool, id_column="id", target="y", by="ann"
    ) as campaign:
        for k in range(12):
            campaign.tell(str(k), float(X[k, 0]))
    context = JobContext(open_store(url), tmp_path)
    for x, y in (("a", "b"), ("", "")):
        found = candidate_map_of(context, {"name": "big", "quantity": "y", "x": x, "y": y}, print)
        assert sum(count for _, _, count, _ in found["cells"]) == 100_000
        assert len(found["labels"]) == 12
        with weal.open_campaign("big", url) as campaign:
            quantity = campaign.read_ledger().quantity().quantity
        svg = picture_svg(map_picture(found, quantity), "/c/big/row")
        assert len(svg) < 30_000
        assert svg.count("<a ") == 12
    words = found["x"]["words"]
    assert re.fullmatch(r"-?[\d.]+ [abc], -?[\d.]+ [abc], -?[\d.]+ [abc]", words)


def test_principal_axes_are_those_of_the_scaled_inputs(tmp_path):
    """Against an SVD of the standardised columns."""
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(90, 3))
    X = np.column_stack([Z[:, 0], Z[:, 0] * 50 + 9 * Z[:, 1] + 3, 0.01 * Z[:, 2]])
    pool = pd.DataFrame({"id": np.arange(len(X)), "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    url = f"sqlite:///{tmp_path}/weal.db"
    weal.open_campaign("small", url, pool=pool, id_column="id", target="y", by="ann").close()
    given = {"name": "small", "quantity": "y", "x": "", "y": ""}
    found = candidate_map_of(JobContext(open_store(url), tmp_path), given, print)
    S = (X - X.mean(axis=0)) / X.std(axis=0)
    _, _, V = np.linalg.svd(S, full_matrices=False)
    shown = {int(id_): (x, y) for id_, x, y, _ in found["points"]}
    places = np.array([shown[n] for n in range(len(X))])
    for k in (0, 1):
        expected = S @ V[k]
        sign = np.sign(expected @ places[:, k])
        assert np.allclose(places[:, k], sign * expected, atol=1e-6 * np.abs(expected).max())


def test_the_headline_of_watch_is_that_of_the_status(servers, labelled):
    """Its words, the table behind its bars, and the digits of the other estimates."""
    shown = json.loads(typed("status", "steel", "--store", labelled, "--json").out)
    found = shown["headline"]
    with Visitor(servers.start(labelled, worker="here")) as eve:
        rows = table(wait_for(eve, "/c/steel/picture/progress.csv"))
        page = eve.get("/c/steel/watch").text
        assert found["words"] in plain(page).replace("\N{NO-BREAK SPACE}", " ")
        part = page.partition("Other estimates")[2].partition("</details>")[0]
        cells = re.findall(r'<td class="number">([\d.]+)</td>', part)
        assert len({len(cell.partition(".")[2]) for cell in cells}) == 1  # aligned
        assert float(cells[0]) == pytest.approx(shown["beliefs"]["left_out"]["now"], abs=0.05)
        every = {row["name"]: float(row["value"]) for row in rows}
        assert every.pop("now, 18 labels") == found["value"]
        assert every == {one["name"]: one["value"] for one in found["comparisons"]}
        root = ET.fromstring(eve.get("/c/steel/picture/progress.svg").content)
        drawn = [re.search(r"h([\d.]+)v", one.get("d")) for one in root.iter(f"{SVG}path")]
        widths = [float(one[1]) for one in drawn if one]
        values = [float(row["value"]) for row in rows]
        shares = np.array(values) / max(values)  # a bar has 1.5 pixels at least
        assert np.allclose(np.array(widths) / max(widths), shares, atol=0.004)
        for which in ("progress.png", "progress"):
            assert wait_for(eve, f"/c/steel/picture/{which}").status_code == 200


def test_explore_aligns_its_numbers_and_dates_have_no_midnight(servers, url):
    days = pd.Timestamp("2024-05-01") + pd.to_timedelta(np.arange(30), unit="D")
    pool = pd.DataFrame({"id": [f"d{n}" for n in range(30)], "day": days, "x": np.arange(30) % 7})
    own = {"id_column": "id", "target": "y", "by": "ann"}
    with weal.open_campaign("days", url, pool=pool, **own) as campaign:
        for n in range(12):
            campaign.tell(f"d{n}", 100.0 + n + 0.25 * (n % 3))
    with Visitor(servers.start(url, worker="here")) as eve:
        end = time.monotonic() + PATIENCE
        while "30 rows" not in (text := eve.get("/c/days/explore").text):
            assert time.monotonic() < end
            time.sleep(0.2)
        assert "2024-05-01" in text
        assert "00:00:00" not in text
        for column in (0, 1, 2):  # measured, predicted, uncertainty
            cells = [
                re.findall(r'<td class="number[^>]*>(.*?)</td>', row)[column]
                for row in re.findall(r"<tr>\n(.*?)</tr>", text[text.index("<tbody>") :], re.DOTALL)
            ]
            numbers = [re.match(r"[\d.]+", cell) for cell in cells]
            places = {len(one[0].partition(".")[2]) for one in numbers if one}
            assert len(places) == 1, (column, cells)
        for id_ in ("d3", "d20"):
            assert "00:00:00" not in eve.get("/c/days/row", params={"id": id_}).text
        part = wait_for(eve, "/c/days/map?x=day&y=x").text
        assert "2024-05-0" in part
        rows = table(eve.get("/c/days/picture/candidates.csv?x=day&y=x"))
        assert {row["id"]: row["day"] for row in rows}["d7"] == "2024-05-08"
