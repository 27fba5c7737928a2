"""Pictures in Chromium: hover, click, keys, and a map that moves when another client tells."""

import pytest

import weal
from web.browser import DESKTOP, PHONE, chromium, visit
from web.conftest import begin


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def tell(url, name):
    with weal.open_campaign("steel", url, by="robot") as campaign:
        campaign.tell(name, (int(name[2:]) % 17 - 3.5) ** 2)


def test_the_map_moves_and_its_marks_lead_to_rows(servers, browser, url, tmp_path):
    """Hover names a row, a label of another client lands, a click and Enter open rows."""
    begin(url, tmp_path, rows=60)
    with weal.open_campaign("steel", url, by="bob") as campaign:
        for k in range(12):
            campaign.tell(f"A-{k}", (k % 17 - 3.5) ** 2)
        first, second = campaign.ask(2)
    server = servers.start(url, worker="here")
    with visit(browser, server, viewport=DESKTOP) as page:
        page.goto(server["url"].split("/?")[0] + "/c/steel/watch")
        page.locator("#map svg").first.wait_for()
        row = page.locator(f'#map a[href$="id={first}"]')
        assert row.locator("title").text_content() == f"{first}: to be measured next"
        assert row.locator(".next").count() == 1
        page.locator("#map select[name=x]").select_option("hours")
        page.locator("#map text.name", has_text="hours").first.wait_for()
        tell(url, first)
        page.locator(f'#map a[href$="id={first}"].landing').wait_for()
        assert "measured" in row.locator("title").text_content()
        assert page.locator("#map select[name=x]").input_value() == "hours"
        landed = page.locator('svg[data-which="recent"] a.landing')
        landed.wait_for()
        assert landed.count() == 1
        assert landed.locator("title").text_content().startswith(f"{first}: measured")
        page.locator('svg[data-which="recent"] a').first.focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.closest('svg').dataset.which") == "recent"
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=first).wait_for()
        page.go_back()
        page.locator(f'#map a[href$="id={second}"]').click()
        page.get_by_role("heading", name=second).wait_for()
    with visit(browser, server, viewport=PHONE, reduced_motion="reduce") as page:
        page.goto(server["url"].split("/?")[0] + "/c/steel/watch")
        page.locator("#map svg").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        motion = page.evaluate(
            """() => {
                const mark = document.querySelector('svg[data-which="recent"] a');
                mark.classList.add("landing");
                return getComputedStyle(mark.firstElementChild).animationName;
            }"""
        )
        assert motion == "none"
        with page.expect_download() as saved:
            page.locator('a[href*="candidates.png"]').click()
        assert saved.value.suggested_filename == "steel-candidates.png"
