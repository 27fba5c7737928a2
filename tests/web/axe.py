"""axe-core in Chromium: the rules of accessibility that a page breaks, by colours and screen."""

from functools import cache
from pathlib import Path

from web.browser import DESKTOP, PHONE

SOURCE = Path(__file__).with_name("vendor") / "axe.min.js"
RUN = """(rules) => axe.run(document, {resultTypes: ["violations"], ...rules})
    .then(found => found.violations)"""
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}  # all that depends on the scheme
COME = """() => !document.querySelector("progress") && !/\u2026$/m.test(document.body.innerText)
    && document.getAnimations().every(one => one.playState !== "running")"""
PATIENCE = 60_000.0  # milliseconds until the parts of a page have come


@cache
def source():
    return SOURCE.read_text()


def violations(page):
    """What axe finds on the page: light and dark, on a phone and on a desktop."""
    page.wait_for_function(COME, timeout=PATIENCE)
    page.evaluate(source())
    found = []
    for size in (PHONE, DESKTOP):
        page.set_viewport_size(size)
        for scheme, rules in (("dark", COLOURS), ("light", {})):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            broken = [
                (one["id"], node) for one in page.evaluate(RUN, rules) for node in one["nodes"]
            ]
            found += [
                f"{scheme}, {size['width']} px, {rule}: {node['html'][:300]} "
                f"{node['failureSummary']}"
                for rule, node in broken
            ]
    return found
