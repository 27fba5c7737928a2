"""Types in a user's editor: mypy on a page of user code, and what `reveal_type` answers."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).parent / "user_code.py"


def comments():
    """The comment of each line that says what mypy answers, by the number of the line."""
    lines = enumerate(PAGE.read_text().splitlines(), 1)
    return {n: text for n, line in lines for text in re.findall(r"\S  # (.*)", line)}


def short_answer(text):
    """A revealed type without its modules, or the code of an error."""
    if code := re.findall(r"^error: .*\[([a-z-]+)\]$", text):
        return f"error: {code[0]}"
    [name] = re.findall(r'^note: Revealed type is "(.*)"$', text)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", name)


def test_reveal_type_names_the_type_of_every_answer():
    words = [sys.executable, "-m", "mypy", "--strict", str(PAGE)]  # with the cache of scripts/test
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    said = re.findall(r"user_code\.py:(\d+): ((?:error|note: Revealed).*)", done.stdout)
    assert {int(number): short_answer(text) for number, text in said} == comments(), done.stderr
