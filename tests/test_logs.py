"""Logs: silent by default, one record for each request and write, and no secret in any of them."""

import io
import json
import logging
import subprocess
import sys

import pytest

from shell import POOL, typed
from weal import logs

TOKEN = "wl_" + "aB3-_xY9" * 6
SECRETS = [
    f"GET /?token={TOKEN}",
    f"Authorization: Bearer {TOKEN}",
    "Authorization: Basic YW5uOmdlaGVpbQ==",
    f"{{'authorization': 'Bearer {TOKEN}'}}",
    f'{{"token": "{TOKEN}"}}',
    f"/c/{TOKEN}/bench",
    f"?a=1&code={TOKEN}&b=2",
    "postgresql://ann:geheim@db.example.org/lab",
    "postgresql://ann:ge%40heim/geheim@db/lab?password=geheim",
    "host=db password=geheim dbname=lab",
    "host=db password = 'geheim' dbname=lab",
    f"cookie: weal-8765={TOKEN}",
    f"set-cookie: weal-8765={TOKEN}; Path=/",
    f"session={TOKEN}",
    f"Token:{TOKEN}",
    f"X-Auth-Token: {TOKEN[:20]}",
    f"line\nbreak {TOKEN}\n",
    f"'{TOKEN}'",
    f"({TOKEN})",
]


@pytest.fixture(autouse=True)
def nothing_hidden(monkeypatch):
    """Passwords of stores that other tests opened in this process are not masked here."""
    monkeypatch.setattr(logs, "_hidden", set())


@pytest.fixture
def listening():
    """What the formatters write."""
    out = {"text": io.StringIO(), "json": io.StringIO()}
    root, before = logging.getLogger("weal"), list(logging.getLogger("weal").handlers)
    handlers = [logging.StreamHandler(one) for one in out.values()]
    for form, handler in zip(out, handlers, strict=True):
        handler.setFormatter(logs.make_formatter(form))
        root.addHandler(handler)
    level = root.level
    root.setLevel("DEBUG")
    yield out
    root.setLevel(level)
    for handler in handlers:
        root.removeHandler(handler)
    assert [one for one in root.handlers if one not in handlers] == before or not before


@pytest.mark.parametrize("text", SECRETS)
def test_no_secret_is_in_a_message_a_field_or_a_traceback(listening, caplog, text):
    logs.record("web", "INFO", text)
    logs.record("web", "INFO", "marked", path=text, headers={"authorization": f"Bearer {TOKEN}"})
    try:
        raise ValueError(text)
    except ValueError as error:
        logs.record("web", "ERROR", "bug", error)
    written = {form: out.getvalue() for form, out in listening.items()}
    assert all(one.count("marked") == 1 for one in written.values())
    written["records"] = str([vars(one) for one in caplog.records])
    for form, found in written.items():
        for secret in (TOKEN, TOKEN[:20], "geheim", "YW5uOmdlaGVpbQ"):
            assert secret not in found, (form, found)


def test_a_text_without_secrets_stays_as_it_is():
    text = "POST /api/v1/campaigns/alloys/tell 200 in 3.2 ms, event 12, code path, token ann"
    assert logs.scrub(text) == text


def test_a_hidden_text_is_masked(listening):
    logs.hide(["s3", "so geheim"])
    logs.record("store", "INFO", "opened with so geheim and s3")
    assert "opened with *** and s3" in listening["text"].getvalue()


def test_an_address_is_masked_also_where_its_words_are_secrets():
    logs.hide(["postgresql", "ann"])
    assert "geheim" not in logs.scrub("postgresql://ann:geheim@db/lab")


def test_a_record_is_one_line_of_json(listening):
    logs.record("campaign", "INFO", "written\nby ann", campaign="a\nb", event=12, share=0.5)
    [line] = listening["json"].getvalue().splitlines()
    found = json.loads(line)
    assert (found["campaign"], found["event"], found["share"]) == ("a\nb", 12, 0.5)
    assert (found["level"], found["logger"]) == ("INFO", "weal.campaign")
    assert found["time"].endswith("Z")
    assert len(listening["text"].getvalue().splitlines()) == 1


def test_a_field_cannot_pose_as_the_level(listening):
    logs.record("web", "INFO", "request", level="forged", message="forged")
    assert json.loads(listening["json"].getvalue())["level"] == "INFO"


def test_python_is_silent_by_default(tmp_path):
    program = (
        "import logging, weal, pandas as pd\n"
        "pool = pd.DataFrame({'temp': [20, 80, 140]}, index=list('abc'))\n"
        "campaign = weal.open_campaign('demo', 'memory:', pool=pool, by='ann')\n"
        "campaign.tell('a', 1.5)\n"
        "from weal.logs import record\n"
        "record('campaign', 'ERROR', 'nobody hears this')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stderr == b""
    assert done.stdout == b""


@pytest.fixture
def silent_again():
    yield
    root = logging.getLogger("weal")
    for handler in list(root.handlers):
        root.removeHandler(handler)
    root.setLevel(logging.NOTSET)
    root.propagate = True
    logs._settings.clear()


def test_the_shell_logs_what_it_writes(tmp_path, silent_again):
    (tmp_path / "pool.csv").write_text(POOL)
    store = ("--store", f"sqlite:///{tmp_path}/weal.db")
    new = ("new", "steel", "--pool", tmp_path / "pool.csv", "--id", "sample")
    assert typed(*new, "--target", "hardness", *store).err.count("INFO") == 0
    done = typed("tell", "steel", "A-5", "6.5", *store, "--log-level", "info", "--by", "ann")
    assert "INFO weal.campaign: written campaign=steel kind=told events=1" in done.err
    done = typed("tell", "steel", "A-6", "6.5", *store, "--log-format", "json", "--json")
    lines = [json.loads(one) for one in done.err.splitlines() if one.startswith("{")]
    assert [one["logger"] for one in lines] == ["weal.campaign", "weal.cli"]
    assert json.loads(done.out)["new"] == 1
    done = typed("tell", "steel", "A-77", "6.5", *store, "--log-level", "error")
    assert done.complaint.startswith("weal: ")


def test_the_password_of_a_store_is_in_no_record(silent_again):
    url = "postgresql://ann:gehe-im@127.0.0.1:1/none"
    done = typed("list", "--store", url, "--log-level", "debug", "--log-format", "json")
    assert done.code == 1
    assert "gehe-im" not in done.err
