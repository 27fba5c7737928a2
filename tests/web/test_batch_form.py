"""The form "Ask for rows" with what the batch may hold, and "Another row instead"."""

import pandas as pd
import pytest

import weal
from web.browser import DESKTOP, PHONE, chromium, visit

TABLE = pd.DataFrame({
    "temp": [40, 60, 90] * 8, "solvent": ["THF", "DMF"] * 12, "time": [n % 7 for n in range(24)],
}, index=[f"r{n:02}" for n in range(24)])  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def plates(url):
    with weal.open_campaign("plates", url, pool=TABLE, target="yield", by="ann"):
        yield url


def rows_out(url):
    with weal.open_campaign("plates", url, by="ann") as campaign:
        return [row.id for row in campaign.asked()]


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_plate_with_one_temperature_is_asked_on_the_page(servers, browser, plates, size):
    server = servers.start(plates, worker="here")
    with visit(browser, server, viewport=size) as page:
        page.goto(server["url"].split("?")[0] + "c/plates/bench")
        page.get_by_text("Limits of the batch").click()
        page.get_by_label("One value in the whole batch of").select_option("temp")
        page.get_by_label("different values of").select_option("solvent")
        page.get_by_label("At most").fill("1")
        page.get_by_label("Only rows with").fill("time < 6 and temp < 90")
        page.get_by_label("Rows to include").fill("r01")
        page.get_by_label("Rows", exact=True).fill("3")
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".big-id", has_text="r01").wait_for()
        ids = rows_out(plates)
        assert len(ids) == 3
        assert ids[0] == "r01"
        rows = TABLE.loc[ids]
        assert set(rows.temp) == {60}
        assert set(rows.solvent) == {"DMF"}
        assert (rows.time < 6).all()
        page.get_by_role("button", name="Another row instead").click()
        page.locator(".big-id").filter(has_not_text="r01").wait_for()
        others = rows_out(plates)
        assert len(others) == 3
        assert set(ids) & set(others) == set(ids[1:])
        page.get_by_text("Limits of the batch").click()
        page.get_by_label("Only rows with").fill("solvent is TFH")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_text("did you mean THF?").wait_for()
        assert sorted(rows_out(plates)) == sorted(others)
