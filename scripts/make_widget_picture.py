"""Take the picture of docs/howto/notebook-widget.md: the widget in JupyterLab, in Chromium.

python scripts/make_widget_picture.py [FILE]   (docs/howto/pictures/notebook-widget.png; needs
chromium, playwright, jupyterlab and the extra `widget`)
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

CELL = """import weal
from weal.samples import path

campaign = weal.open_campaign("alloys", "sqlite:///weal.db", pool=path("alloys.csv"),
                              id_column="sample", target="hardness", by="ann")
campaign.widget()"""
BEFORE = """from weal.samples import alloys
for _ in range(4):
    ids = campaign.ask(5)
    campaign.tell(ids, [alloys.measure(one) for one in ids])"""
WAIT = 120_000  # ms


def write_notebook(folder: Path) -> None:
    """A notebook with the cell of the page, and one that measures some rows."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [
        {"cell_type": "code", "id": f"c{n}", "source": source, "metadata": {}, "outputs": [],
         "execution_count": None}
        for n, source in enumerate([CELL, BEFORE])
    ]  # fmt: skip
    content = {"cells": cells, "metadata": {"kernelspec": kernel}}
    text = json.dumps({**content, "nbformat": 4, "nbformat_minor": 5})
    (folder / "alloys.ipynb").write_text(text)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """JupyterLab on a free port; its address."""
    names = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    env = {**os.environ, **{f"JUPYTER_{one}": str(folder / one) for one in names}}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0"]
    command += ["--ip=127.0.0.1", "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=env, cwd=folder)
    try:
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/", log.read_text())):
            assert process.poll() is None, log.read_text()
            time.sleep(0.2)
        yield found[0]
    finally:
        process.terminate()
        process.wait()


def run_cell(page: Page, n: int) -> None:
    """Run a cell; a notebook forgets one that is run before its kernel is there."""
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(n)
    prompt = cell.locator(".jp-InputPrompt")
    while not re.search(r"[\d*]", prompt.inner_text()):
        cell.locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        page.wait_for_timeout(3000)
    prompt.filter(has_text=re.compile(r"\d")).wait_for(timeout=WAIT)


def main(file: str = "docs/howto/pictures/notebook-widget.png") -> None:
    """Serve a notebook, run it, ask for rows, and take the picture of the first cell."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    place = Path(file).resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        write_notebook(Path(name))
        with serving(Path(name)) as url:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1180, "height": 1000})
            page.set_default_timeout(WAIT)
            page.goto(f"{url}lab/tree/alloys.ipynb")
            run_cell(page, 0)
            run_cell(page, 1)
            bench = page.locator(".weal-bench")
            bench.get_by_role("button", name="Ask for rows").click()
            bench.locator(".weal-row").wait_for()
            bench.locator(".weal-headline").filter(has_text="32 labels").wait_for()
            page.keyboard.type("318,5")
            page.wait_for_timeout(500)
            page.locator(".jp-Notebook .jp-CodeCell").first.screenshot(path=place)
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
