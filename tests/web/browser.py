"""Debian's Chromium, driven by playwright; requests to other machines are cut, and told."""

import os
import shutil
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from web.visiting import PATIENCE

LOST = ("Failed to load resource", "htmx:sendError", "htmx:afterRequest")  # of a server that died
LAB = "lab.example.org"  # a name of this machine; other machines are not found
ALONE = f"--host-resolver-rules=MAP {LAB} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
PLAIN = "The Cross-Origin-Opener-Policy header has been ignored"  # http under a name
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1440, "height": 900}


def program():
    """The path of Chromium; without it tests are skipped, or fail where it is required."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("WEAL_CHROMIUM") == "required":
            pytest.fail("no Chromium here: install the Debian package chromium")
        pytest.skip("no Chromium here: install the Debian package chromium")
    return found


@contextmanager
def chromium():
    from playwright.sync_api import sync_playwright

    path = program()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", ALONE])
        yield browser
        browser.close()


class Watcher:
    """What must not happen on a page: dialogs, errors, refusals of the policy, other hosts."""

    def __init__(self, context):
        self.trouble = []
        context.on("page", self.follow)
        context.on("request", self.only_here)

    def follow(self, page):
        page.on("dialog", lambda dialog: (self.trouble.append("dialog"), dialog.dismiss()))
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("console", self.listen)

    def listen(self, message):
        if message.type == "error" and not message.text.startswith((*LOST, PLAIN)):
            self.trouble.append(message.text)

    def only_here(self, request):
        if urlsplit(request.url).hostname not in ("127.0.0.1", LAB, None):
            self.trouble.append(f"another host: {request.url}")


@contextmanager
def visit(browser, server, who="ann", **options):
    """A page of a person who has come in, and what went wrong on it (in the end: nothing)."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * PATIENCE)
    watcher = Watcher(context)
    page = context.new_page()
    page.goto(server["url"])
    assert "token" not in page.url
    if who and page.get_by_label("Your name or initials").is_visible():
        page.get_by_label("Your name or initials").fill(who)
        page.get_by_role("button", name="Save").click()
        page.get_by_label("Who you are").wait_for(state="detached")
    yield page
    context.close()
    assert not watcher.trouble, watcher.trouble
