"""The printed worksheet: results are on the paper, and a phone reads its codes."""

import io
import itertools
import os
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pandas as pd
import pytest
import zxingcpp
from PIL import Image
from pypdf import PdfReader

import weal
from weal.web.pages.print_sheet import draw_code
from weal.web.server import Address
from web.browser import LAB, PHONE, chromium, visit
from web.test_tokens import token
from web.visiting import Visitor, client_of, token_of

PICTURES = os.environ.get("WEAL_PICTURES")  # a folder to look at the pages in
IDS = ("A-1", "R/2 <b>", "Ä-" + "3" * 60)
PAPERS = {"A4": (794, 1123), "Letter": (816, 1056)}  # px of 1/96 inch
MARGIN = 38  # px: 1 cm
WRITE = """() => [...document.querySelectorAll(".write")].map(one => {
    const box = one.getBoundingClientRect(); return [box.left, box.right, box.width]; })"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def campaign(url, name, inputs, results=("y",)):
    """A campaign with this many inputs, and three rows of ann's."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {"id": IDS}
        | {f"input number {k} [mm]": rng.uniform(100.0, 99999.0, 3) for k in range(inputs)}
        | {one: [None] * 3 for one in results}
    )
    with weal.open_campaign(
        name, url, pool=table, id_column="id", target=list(results), by="ann"
    ) as one:
        one.ask(3)


def printed_width(page, paper):
    """The boxes of the room for results, as the paper has them, and the width of the paper."""
    width, height = PAPERS[paper]
    page.emulate_media(media="print")
    page.set_viewport_size({"width": width - 2 * MARGIN, "height": height})
    return page.evaluate(WRITE), width - 2 * MARGIN


@pytest.mark.parametrize(("inputs", "n_results"), [(2, 1), (4, 3), (18, 1), (60, 9)])
def test_the_room_for_results_is_on_the_paper(servers, browser, url, inputs, n_results):
    results = [f"result{k}" for k in range(n_results)]
    campaign(url, "wide", inputs, results)
    server = servers.start(url, worker="here")
    with visit(browser, server) as page:
        page.goto(server["url"].split("/?")[0] + "/c/wide/print")
        page.locator("#sheet:not([hx-get])").wait_for()
        for paper in PAPERS:
            boxes, width = printed_width(page, paper)
            assert len(boxes) >= 3 * (n_results + 1)
            assert all(left >= 0 and right <= width + 0.5 for left, right, _ in boxes)
            assert all(size >= 50 for _, _, size in boxes)  # room for a number
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("svg.code").count() == 0  # nobody else reaches this server
            found = texts(page.pdf(format=paper, margin=dict.fromkeys(("left", "right"), "1cm")))
            assert {"A-1", "note", *results} <= {text for text, _ in found}
            assert all(0.0 < share < 0.95 for _, share in found)


def texts(pdf):
    """The texts of a PDF, and where each begins on its page: from 0, left, to 1, right."""
    found = []
    for page in PdfReader(io.BytesIO(pdf)).pages:
        width = float(page.mediabox.width)

        def place(text, user, matrix, *_, width=width):
            x = matrix[4] * user[0] + user[4]
            found.extend((line.strip(), x / width) for line in text.splitlines() if line.strip())

        page.extract_text(visitor_text=place)
    return found


def codes(page):
    """What a camera reads on the page."""
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True)))
    return sorted(one.text for one in zxingcpp.read_barcodes(picture))


@pytest.mark.parametrize("inputs", [2, 18])
def test_a_camera_reads_the_address_of_each_row(servers, browser, url, inputs):
    """On the screen and on paper, light and dark; the phone logs in, and is at the row."""
    campaign(url, "lab ü", inputs)
    secret = token(url, "zoe", "measure")
    server = servers.start(url, root_path="/weal", worker="here", allowed=[LAB])
    server["url"] = server["url"].replace("127.0.0.1", LAB)
    base = server["url"].split("/?")[0]
    with visit(browser, server) as page:
        page.goto(f"{base}/c/lab ü/print")
        page.locator("#sheet:not([hx-get])").wait_for()
        for media, scheme in itertools.product(("screen", "print"), ("light", "dark")):
            page.emulate_media(media=media, color_scheme=scheme)
            found = codes(page)
            if PICTURES:
                page.screenshot(
                    path=f"{PICTURES}/print-{inputs}-{media}-{scheme}.png", full_page=True
                )
            assert len(found) == 3
            assert all(one.startswith(f"{base}/c/lab%20%C3%BC/bench?id=") for one in found)
            queries = [parse_qs(urlsplit(one).query) for one in found]
            assert {one["id"][0] for one in queries} == set(IDS)
            assert all(list(one) == ["id"] for one in queries)  # no token
        [address] = [one for one in found if "%2F" in one]
    phone = browser.new_context(viewport=PHONE)
    page = phone.new_page()
    page.goto(address)
    page.get_by_label("Token").fill(secret)
    page.keyboard.press("Enter")
    page.locator(".big-id", has_text=IDS[1]).wait_for()
    assert secret not in page.url
    phone.close()


def test_a_code_needs_a_name_that_phones_can_reach(servers, url):
    campaign(url, "steel", 2)
    local, proxied = servers.start(url, allowed=[LAB]), servers.start(url, root_path="/weal")
    for server in (local, proxied):  # visited as localhost
        root = "/weal" if server is proxied else ""
        with client_of(server) as client:
            client.get(f"{root}/", params={"token": token_of(server)})
            client.cookies.set("weal-who", "ann")
            answer = client.get(f"{root}/c/steel/print")
            assert answer.status_code == 200
            assert 'class="code"' not in answer.text


def test_a_code_behind_a_proxy_has_the_address_of_the_proxy(servers, url):
    campaign(url, "steel", 2)
    given = {"root_path": "/weal", "proxies": ["127.0.0.1"], "allowed": [LAB]}
    server = servers.start(url, **given)
    with client_of(server) as client:
        client.get("/weal/", params={"token": token_of(server)})
        client.cookies.set("weal-who", "ann")
        cookies = "; ".join(f"{one.name}={one.value}" for one in client.cookies.jar)
        sent = {"Host": LAB, "X-Forwarded-Proto": "https", "Cookie": cookies}
        text = client.get("/weal/c/steel/print", headers=sent).text
    code = draw_code(f"https://{LAB}/weal/c/steel/bench?id=A-1", "QR code of row A-1")
    assert str(code) in text


def test_the_address_for_phones_follows_from_the_options():
    assert Address().reachable == ""
    assert Address("0.0.0.0", 80, ("lab",)).reachable == "http://lab:80/"
    assert Address("0.0.0.0", 80, ("lab",), proxies=("10.0.0.1",)).reachable == ""
    assert Address("127.0.0.1", 80, ("lab",)).reachable == ""


def test_a_name_that_is_typed_on_a_rows_page_leads_back_to_the_row(servers, url):
    campaign(url, "steel", 2)
    with Visitor(servers.start(url), who=None) as hands:
        place = f"/c/steel/bench?id={quote(IDS[1], safe='')}"
        fields = hands.form(place, "/who")
        answer = hands.post("/who", {**fields, "name": "zoe"})
        assert answer.headers["location"] == place
