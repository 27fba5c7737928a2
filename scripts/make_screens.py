"""Take the screenshots of docs/guide/serve.md: a served campaign with some labels, in Chromium.

python scripts/make_screens.py [FOLDER]   (docs/guide/pictures; needs chromium and playwright)
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from weal import open_campaign
from weal.samples import alloys, path

ROUNDS, BATCH = 4, 8
WEAL = [sys.executable, "-c", "from weal.cli.main import main; main()"]
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PICTURES = {  # name, page, the element that shows that it is done, size, scheme, height
    "serve-bench": ("bench", "dl.cells", DESKTOP, "light", 1000),
    "serve-watch": ("watch", "[data-chart] canvas", DESKTOP, "light", 1250),
    "serve-explore": ("explore", "table.list tbody tr", DESKTOP, "light", 900),
    "serve-phone": ("bench", "dl.cells", PHONE, "dark", 1000),
}


def campaign(url: str) -> None:
    """Some rounds of asking and measuring, and rows that are out."""
    pool = {"pool": path("alloys.csv"), "id_column": "sample", "target": "hardness"}
    with open_campaign("alloys", url, by="ann", **pool) as found:
        for n in range(ROUNDS):
            ids = found.ask(BATCH, by="ann" if n % 2 else "bo")
            found.tell(ids, [alloys.measure(one) for one in ids], by="ann" if n % 2 else "bo")
        found.ask(6, by="ann")


@contextmanager
def serving(url: str, state: str) -> Iterator[str]:
    """A server; its address with the token."""
    process = subprocess.Popen(
        [*WEAL, "serve", "--port", "0", "--store", url],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": state},
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http\S+", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.terminate()
        process.communicate()


def take(browser: Browser, address: str, folder: Path) -> None:
    """All pictures."""
    base = address.split("/?")[0]
    for name, (page, ready, size, scheme, height) in PICTURES.items():
        context = browser.new_context(color_scheme=scheme, viewport=size)
        context.add_cookies([{"name": "weal-who", "value": "ann", "url": base}])
        shown = context.new_page()
        shown.goto(address)
        shown.goto(f"{base}/c/alloys/{page}")
        shown.locator(ready).first.wait_for(timeout=120_000)
        shown.get_by_text("Loading the reason").wait_for(state="detached", timeout=120_000)
        shown.wait_for_timeout(1500)  # what else the worker has found
        whole = min(shown.evaluate("document.body.scrollHeight"), height)
        shown.set_viewport_size({**size, "height": whole})
        shown.screenshot(path=folder / f"{name}.png")
        context.close()


def main(folder: str = "docs/guide/pictures") -> None:
    """Make the campaign, serve it, look at it."""
    program = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as name:
        url = f"sqlite:///{name}/weal.db"
        campaign(url)
        with serving(url, f"{name}/state") as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            take(browser, address, Path(folder))
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
