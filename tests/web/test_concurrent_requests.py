"""What happens while something else does: labels during a job, forms that are sent twice."""

import queue
import re

import pytest

import weal
from weal.store.protocol import open_store
from weal.web import candidate_search, jobs
from weal.web.job_context import JobContext
from weal.web.job_worker import Worker
from web.conftest import begin
from web.test_request_sizes import shown, upload
from web.visiting import Visitor, plain

LABELS = 14


def value(k):
    return (k % 17 - 3.5) ** 2 + k % 5


@pytest.fixture
def context(url, tmp_path):
    """What the worker has at hand, of a campaign with a model and rows that are out."""
    begin(url, tmp_path, rows=60)
    with weal.open_campaign("steel", url, by="bob") as campaign:
        campaign.tell([f"A-{k}" for k in range(LABELS)], [value(k) for k in range(LABELS)])
        campaign.ask_for(["A-40", "A-41"])
    (tmp_path / "kept").mkdir()
    return JobContext(open_store(url), tmp_path / "kept")


def once(deed):
    """The deed, at the first call alone."""
    left = [deed]
    return lambda *_: left and left.pop()()


def seq_of(context, kind):
    if kind == "explore":
        return candidate_search.last_event(
            context.results.path("steel", candidate_search.CANDIDATES_FILE)
        )
    return context.results.read_result("steel", kind).seq


@pytest.mark.parametrize("kind", ["status", "measured", "explore", "why"])
def test_what_was_found_while_a_label_came_is_not_taken_for_what_it_teaches(
    context, url, kind, monkeypatch
):
    def others():
        with weal.open_campaign("steel", url, by="eve") as campaign:
            campaign.tell("A-40", value(40))
            campaign.ask_for(["A-42"])

    meanwhile, before = once(others), context.store.head("steel")[0]
    for name in ("explain", "predictions_by_others", "write_candidates"):
        work = getattr(jobs, name)
        monkeypatch.setattr(jobs, name, lambda *given, work=work: [meanwhile(), work(*given)][1])
    quiet = kind == "explore"  # which reports progress before it reads the campaign, too
    jobs.run(context, kind, {"name": "steel"}, (lambda *_: None) if quiet else meanwhile)
    assert context.store.head("steel")[0] == before + 2
    assert seq_of(context, kind) == before
    jobs.run(context, kind, {"name": "steel"}, print)
    assert seq_of(context, kind) == before + 2


class Slow:
    """A runner whose jobs end when they are told to."""

    def __init__(self):
        self.begun, self.ends = queue.Queue(), queue.Queue()

    def __call__(self, kind, given, progress):
        self.begun.put(given["seq"])
        self.ends.get()

    def stop(self):
        self.ends.put(None)

    def close(self):
        self.ends.put(None)


def test_what_is_wanted_while_it_is_looked_for_is_looked_for_again():
    runner = Slow()
    worker = Worker(lambda: runner)
    worker.request_result("status", "steel", 1)
    assert runner.begun.get() == 1
    for seq in (1, 2, 3):
        worker.request_result("status", "steel", seq)
    runner.ends.put(None)
    assert runner.begun.get() == 3
    worker.request_result("status", "steel", 3)
    again = worker.pending_job("status", "steel")
    runner.ends.put(None)
    again.finished.wait()
    assert worker.pending_job("status", "steel") is None
    assert runner.begun.empty()
    worker.close()


@pytest.fixture
def ann(servers, steel):
    with Visitor(servers.start(steel, worker="here")) as visitor:
        yield visitor


def sent_twice(ann, path, data, **files):
    """Two answers to the same form, the second sent before anything came of the first."""
    send = lambda: ann.client.post(path, data=data, files=files, headers={"Origin": ann.base})  # noqa: E731
    return [shown(ann, one) for one in [send(), send()]]


def test_a_double_click_makes_one_campaign(ann, steel):
    plan = shown(ann, upload(ann, "alloys.csv", b"id,a,b\nx,1,2\ny,2,4\nz,4,9\n"))
    fields = {**ann.form(str(plan.url), "/new/plan"), "make": "true", "id": "id"}
    for page in sent_twice(ann, "/new/plan", fields):
        assert page.url.path == "/c/alloys/bench"
    other = shown(ann, ann.post("/new/plan", {**fields, "name": "copper"}))  # "back", another name
    assert other.url.path == "/c/copper/bench"
    assert sorted(open_store(steel).campaigns()) == ["alloys", "copper", "steel"]


def test_a_form_that_is_sent_again_with_something_else_in_it_loses_nothing(ann, steel):
    form, key = ann.secret(), "0a" * 16
    assert ann.tell("steel", "A-1", "3", form, key).is_redirect
    assert ann.tell("steel", "A-1", "3.0", form, key).is_redirect  # the same again
    kept = open_store(steel).head("steel")
    sent = [ann.tell("steel", *other, form, key) for other in (("A-2", "4"), ("A-1", "5"))]
    sent += [ann.post("/c/steel/skip", {"form": form, "key": key, "id": "A-3"})]
    for answer, wanted in zip(sent, ("'A-2': 4.0", "'A-1': 5.0", "'A-3': skip"), strict=True):
        assert answer.status_code == 409
        said = f"This form has saved 'A-1': 3.0 before; {wanted} was not saved"
        assert said in plain(answer.text)
    assert open_store(steel).head("steel") == kept
    new = re.search(r'name="key" value="([0-9a-f]{32})"', sent[0].text)[1]
    assert 'value="4"' in sent[0].text
    assert ann.tell("steel", "A-2", "4", form, new).is_redirect  # as the page offers
    skip = {"form": form, "key": "0b" * 16, "id": "A-3"}
    for _ in range(2):
        assert ann.post("/c/steel/skip", skip).is_redirect
    for _ in range(2):  # the skip, then the label
        fields = ann.form("/c/steel/bench", "/c/steel/undo")
        assert ann.post("/c/steel/undo", fields).is_redirect
    late = ann.tell("steel", "A-2", "4", form, new)  # "back", and sent once more
    assert late.status_code == 409
    assert "was not saved" in plain(late.text)
    kinds = [event.kind for event in open_store(steel).read("steel")]
    assert kinds[2:] == ["told", "told", "skipped", "skipped", "withdrawn"]


def test_a_form_for_more_rows_is_not_taken_for_the_one_before(ann, steel):
    given = {"form": ann.secret(), "key": "0c" * 16, "n": 2}
    for _ in range(2):
        assert shown(ann, ann.post("/c/steel/ask", given)).status_code == 200
    page = shown(ann, ann.post("/c/steel/ask", {**given, "n": 5}))
    assert page.status_code == 409
    assert "2 rows for ann" in plain(page.text)
    assert "5 rows for ann" in plain(page.text)
    take = {"form": given["form"], "key": "0d" * 16, "id": "A-9"}
    assert shown(ann, ann.post("/c/steel/row/ask", take)).status_code == 200
    assert ann.post("/c/steel/row/ask", {**take, "id": "A-8"}).status_code == 409
    asked = [event.id for event in open_store(steel).read("steel") if event.kind == "asked"]
    assert len(asked) == 3
    assert asked[2] == "A-9"


def test_a_double_click_keeps_a_worksheet_once_and_says_so(ann, steel):
    brought = upload(ann, "back.csv", b"sample,hardness\nA-1,2.5\nA-2,3.5\n", "/c/steel/sheet")
    fields = ann.form(str(shown(ann, brought).url), "/c/steel/keep")
    for page in sent_twice(ann, "/c/steel/keep", fields):
        assert "2 labels saved." in plain(page.text)
    kinds = [event.kind for event in open_store(steel).read("steel")]
    assert kinds.count("told") == 2


def test_a_double_click_adds_candidates_once_and_says_so(ann, steel):
    table = b"sample,temp,hours,hardness\nB-1,2,1,\nB-2,4,2,\n"
    brought = shown(ann, upload(ann, "more.csv", table, "/c/steel/add"))
    assert "2 candidates in this table" in plain(brought.text)
    fields = ann.form(str(brought.url), "/c/steel/add/table")
    for page in sent_twice(ann, "/c/steel/add/table", fields):
        assert "2 candidates added." in plain(page.text)
    kinds = [event.kind for event in open_store(steel).read("steel")]
    assert kinds.count("added") == 2  # with those that it began with
