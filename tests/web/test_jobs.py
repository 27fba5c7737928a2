"""Jobs of the server: their time, who may end them, whom they keep waiting, what is remembered."""

import io
import os
import queue
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from campaign import postgres_server
from shell import events
from tables import hostile
from weal.errors import NotAllowed, WealError
from weal.web import job_worker as jobs
from weal.web.job_runners import ChildProcessRunner
from weal.web.job_worker import JOB_TITLES, Cancelled, TooManyJobs, Worker
from web.browser import DESKTOP, PHONE, chromium, visit
from web.conftest import begin
from web.test_request_sizes import MOST_MEMORY, memory, shown, upload
from web.visiting import PATIENCE, Visitor, plain


class Gated:
    """Runners whose jobs end when they are let go, or stopped."""

    def __init__(self):
        self.begun, self.gates = queue.Queue(), {}

    def __call__(self):
        outer = self

        class Runner:
            gate = None

            def __call__(self, kind, given, progress):
                n = given.get("n")
                self.gate = outer.gates.setdefault(n, queue.Queue())
                outer.begun.put(n)
                if self.gate.get() == "stop":
                    raise WealError("the process has ended")
                return n

            def stop(self):
                if self.gate is not None:  # it may only be about to begin
                    self.gate.put("stop")

            close = stop

        return Runner()

    def let_go(self, n):
        self.gates.setdefault(n, queue.Queue()).put("go")


@pytest.fixture
def gated():
    return Gated()


def submitted(worker, n, kind="export", who="ann"):
    return worker.submit(kind, {"n": n, "name": "steel"}, who=who)


def ended(job):
    assert job.finished.wait(PATIENCE)
    return job


def test_labels_of_a_worksheet_wait_for_no_table_and_for_no_model(gated):
    worker = Worker(gated)
    for n, kind in enumerate(["look", "ask"]):
        submitted(worker, n, kind)
    assert {gated.begun.get(timeout=PATIENCE) for _ in range(2)} == {0, 1}
    labels = submitted(worker, 2, "tell_file", who="bob")
    gated.let_go(2)
    assert ended(labels).answer == 2
    assert [job.kind for job in worker.unfinished_jobs()] == ["look", "ask"]
    worker.close()


def test_the_second_job_of_one_comes_after_the_first_of_everybody(gated):
    worker = Worker(gated)
    for n in range(6):
        submitted(worker, n)
    assert gated.begun.get(timeout=PATIENCE) == 0
    other = submitted(worker, 6, who="bob")
    assert worker.jobs_ahead(other) == 1  # the one that is under way
    for n in range(7):
        gated.let_go(n)
    order = [gated.begun.get(timeout=PATIENCE) for _ in range(6)]
    assert order == [6, 1, 2, 3, 4, 5]
    worker.close()


def test_a_job_is_ended_by_whoever_started_it_alone(gated):
    worker = Worker(gated)
    running, waiting = submitted(worker, 0), submitted(worker, 1)
    assert gated.begun.get(timeout=PATIENCE) == 0
    for job in (running, waiting):
        with pytest.raises(NotAllowed, match="only the person who started a job"):
            worker.cancel(job, "bob")
        assert worker.cancel(job, "ann")
        assert isinstance(ended(job).error, Cancelled)
    assert worker.unfinished_jobs() == []
    assert not worker.cancel(running, "ann")
    after = submitted(worker, 2)
    gated.let_go(2)
    assert ended(after).answer == 2
    assert after.error is None
    worker.close()


def test_what_the_pages_want_is_nobodys_to_cancel(gated):
    worker = Worker(gated)
    worker.request_result("status", "steel", 1)
    with pytest.raises(NotAllowed):
        worker.cancel(worker.pending_job("status", "steel"), "")
    worker.close()


def test_a_job_ends_at_the_limit_of_its_time(gated, monkeypatch):
    monkeypatch.setenv("WEAL_MAX_JOB_SECONDS", "1")
    worker = Worker(gated)
    slow, next_one = submitted(worker, 0), submitted(worker, 1)
    gated.let_go(1)
    assert "stopped after 1 seconds" in str(ended(slow).error)
    assert "WEAL_MAX_JOB_SECONDS" in str(slow.error)
    assert ended(next_one).answer == 1
    worker.close()


class SlowChild:
    """A child process that takes long to end after it was killed."""

    def __init__(self):
        self.reading, self.killed, self.ended = (threading.Event() for _ in range(3))
        self.stdin, self.stdout = io.StringIO(), self

    def readline(self):
        self.reading.set()
        self.killed.wait(PATIENCE)
        return ""

    def poll(self):
        return None

    def kill(self):
        self.killed.set()

    def wait(self):
        self.ended.wait(PATIENCE)

    def communicate(self):
        self.ended.wait(PATIENCE)


def test_nobody_waits_for_the_end_of_a_killed_process(tmp_path):
    runner, child = ChildProcessRunner("memory:", tmp_path), SlowChild()
    runner._process = child
    worker = Worker(lambda: runner)
    job = submitted(worker, 0)
    assert child.reading.wait(PATIENCE)
    with ThreadPoolExecutor(2) as pool:
        cancelled = pool.submit(worker.cancel, job, "ann")
        assert child.killed.wait(PATIENCE)
        listed = pool.submit(worker.unfinished_jobs).result(timeout=5.0)
        assert listed == [job]
        assert not cancelled.done()
        child.ended.set()
        assert cancelled.result(PATIENCE)
    assert isinstance(ended(job).error, Cancelled)
    worker.close()


def test_a_job_without_a_timer_is_not_run(gated, monkeypatch):
    """It would have no time limit: it fails, and the next one runs."""
    worker = Worker(gated)
    first = submitted(worker, 0)
    gated.let_go(0)
    ended(first)

    def fail(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Timer, "start", fail)
        assert "overloaded (can't start new thread)" in str(ended(submitted(worker, 1)).error)
    assert worker.unfinished_jobs() == []
    last = submitted(worker, 2)
    gated.let_go(2)
    assert ended(last).answer == 2
    assert [gated.begun.get(timeout=PATIENCE) for _ in range(2)] == [0, 2]
    worker.close()


def test_a_job_whose_queue_cannot_start_is_not_remembered(gated, monkeypatch):
    worker = Worker(gated)

    def fail(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError, match="new thread"):
            worker.submit("export", {"n": 0}, "0" * 32, "ann")
    assert worker.job("0" * 32) is None
    again = worker.submit("export", {"n": 0}, "0" * 32, "ann")
    gated.let_go(0)
    assert ended(again).answer == 0
    worker.close()


def test_nobody_fills_the_queue_nor_the_memory_of_jobs(gated, constants):
    constants(jobs, MAX_FINISHED_JOBS=6, MAX_JOBS_PER_PERSON=20)
    worker = Worker(gated)
    mine = submitted(worker, 0, who="bob")
    gated.let_go(0)
    ended(mine)
    pictures = [submitted(worker, n, "map") for n in range(1, 21)]
    with pytest.raises(TooManyJobs, match="you have 20 unfinished jobs"):
        submitted(worker, 99, "map")
    waiting = submitted(worker, 21, who="bob")
    for n in range(1, 22):
        gated.let_go(n)
    for job in [*pictures, waiting]:
        ended(job)
    others = [submitted(worker, n) for n in range(30, 40)]
    for n in range(30, 40):
        gated.let_go(n)
    for job in others:
        ended(job)
    assert worker.job(mine.id) is mine
    assert worker.job(waiting.id) is waiting
    assert sum(worker.job(job.id) is not None for job in pictures) == 6
    assert [worker.job(job.id) is not None for job in others] == [False] * 6 + [True] * 4
    worker.close()


def test_every_kind_of_job_has_a_title():
    from weal.web.jobs import JOBS

    assert set(JOB_TITLES) == set(JOBS)


def children(server):
    """Processes beside the server, by their number."""
    path = Path(f"/proc/{server['pid']}/task")
    return [int(one) for task in path.iterdir() for one in (task / "children").read_text().split()]


def test_hostile_tables_are_refused_on_the_page_and_nobody_waits(servers, steel):
    """The real worker: refused soon, in little memory, while others keep labels."""
    server = servers.start(steel, worker=True)
    with Visitor(server) as ann, Visitor(server, "bob") as bob:
        for name in ("far-row.xlsx", "long-cell.xlsx", "rows.csv"):
            answer = shown(ann, upload(ann, name, hostile.MAKERS[name]()))
            assert answer.status_code == 422
            assert f"WEAL_MAX_{hostile.LIMITS[name]}" in answer.text
            assert f"{name} has" in plain(answer.text)
        form = bob.secret()
        assert bob.tell("steel", "A-1", "2.5", form, "k1").status_code in (200, 303)
        [child] = children(server)
        assert memory({"pid": child}) < MOST_MEMORY
        assert memory(server) < MOST_MEMORY


def stop_child(server):
    """Stop the process of the worker, once it runs weal: a stopped process can be killed."""
    end = time.monotonic() + PATIENCE
    while True:
        for child in children(server):
            with suppress(OSError):
                if b"weal.web.job_process" in Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(child, signal.SIGSTOP)
                    return
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_job_under_way_is_cancelled_on_the_page(servers, url, tmp_path):
    """The process that does it is killed, and another does the next."""
    begin(url, tmp_path, rows=60)
    server = servers.start(url, worker=True)
    with Visitor(server) as ann, Visitor(server, "bob") as bob:
        table = "id,a\n" + "".join(f"r{n},{n}\n" for n in range(400_000))
        answer = upload(ann, "large.csv", table.encode())
        stop_child(server)  # it cannot end before it is cancelled
        where = answer.headers["location"]
        id_ = where.partition("?")[0].rpartition("/")[2]
        page = plain(ann.get("/work").text)
        assert "Reading a table" in page
        assert "ann" in page
        form = {"form": ann.secret()}
        assert bob.post(f"/work/{id_}/cancel", {"form": bob.secret()}).status_code == 403
        assert ann.post(f"/work/{id_}/cancel", form).headers["location"] == "/work"
        said = shown(ann, ann.get(where))
        assert said.status_code == 409
        assert "this job was cancelled" in plain(said.text)
        assert "No job is running" in plain(ann.get("/work").text)
        again = shown(ann, upload(ann, "small.csv", b"id,a\nx,1\ny,2\nz,4\n"))
        assert again.status_code == 200
    assert ann.client.is_closed


def test_a_job_of_another_kind_is_not_taken_for_the_one_that_is_meant(servers, steel):
    server = servers.start(steel, worker="here")
    with Visitor(server) as ann:
        answer = ann.get("/c/steel/export", params={"what": "labels", "ending": "csv"})
        work = str(shown(ann, answer).url).rpartition("work=")[2]
        assert len(work) == 32
        file = "0" * 32
        for page in ("/c/steel/sheet", "/c/steel/bench", "/c/steel/row?id=A-1", "/c/steel/settings",
                     f"/c/steel/file?key={file}", f"/new/plan?file={file}"):  # fmt: skip
            mark = "&" if "?" in page else "?"
            assert ann.get(f"{page}{mark}work={work}").status_code < 500
        take = {"form": ann.secret(), "id": "A-1", "key": work}
        assert ann.post("/c/steel/row/ask", take).status_code == 409


def test_many_pictures_leave_other_jobs_alone(servers, steel):
    """300 requests for pictures by one person, while another's job waits."""
    server = servers.start(steel)  # nothing is ever found
    with Visitor(server) as ann, Visitor(server, "bob") as bob:
        brought = upload(ann, "a.csv", b"id,a\nx,1\ny,2\n")
        place = brought.headers["location"]
        paths = [f"/c/steel/effects/picture?x=temp&y={n}" for n in range(300)]
        with ThreadPoolExecutor(8) as crowd:
            codes = list(crowd.map(lambda path: bob.get(path).status_code, paths))
        assert set(codes) == {200, 429}
        assert codes.count(200) == jobs.MAX_JOBS_PER_PERSON
        assert "Reading a table" in plain(ann.get(place).text)
        assert "wait, or cancel some" in plain(bob.get(paths[-1]).text)


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
    if subprocess.run(words, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_is_said_to_be_full(servers, steel, small_disk):
    """On upload, and when a job writes a file."""
    server = servers.start(steel, worker=True, state=str(small_disk))
    with Visitor(server) as ann:
        before = events("steel", steel)
        answer = upload(ann, "a.csv", b"id,a\n" + b"x,1\n" * 400_000)
        assert answer.status_code == 507
        assert "disk of this server is full" in answer.text
        assert not list(small_disk.rglob("*.csv"))
        filler = next(small_disk.rglob("token*")).with_name("filler")
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(b"x" * 4096):
                pass
        path = {"what": "candidates", "ending": "csv"}
        written = shown(ann, ann.get("/c/steel/export", params=path))
        assert written.status_code == 507
        assert "disk of this server is full" in written.text
        filler.unlink()
        assert shown(ann, ann.get("/c/steel/export", params=path)).status_code == 200
        assert events("steel", steel) == before


def test_a_page_does_not_wait_long_for_a_database_that_was_stopped(servers, tmp_path):
    if postgres_server.programs() is None:
        pytest.skip("no PostgreSQL here: install the Debian package postgresql")
    with postgres_server.running() as database:
        begin(database.url, tmp_path)
        server = servers.start(database.url)
        with Visitor(server) as ann:
            assert ann.get("/c/steel/bench").status_code == 200
            database.stop("immediate")
            begun = time.monotonic()
            with ThreadPoolExecutor(6) as crowd:
                answers = list(crowd.map(lambda _: ann.get("/c/steel/bench"), range(6)))
            assert time.monotonic() - begun < 25.0  # one wait of 3 s for all, not 30 s for each
            assert {one.status_code for one in answers} == {503}
            assert "cannot be reached" in answers[0].text
            database.start()
            assert ann.get("/c/steel/bench").status_code == 200
            assert ann.tell("steel", "A-1", "2.5", ann.secret(), "k").status_code in (200, 303)


def test_jobs_in_a_browser(servers, steel):
    """The list fits a phone and a screen; the button ends a job."""
    server = servers.start(steel)
    with chromium() as browser:
        for size in (PHONE, DESKTOP):
            with visit(browser, server, viewport=size) as page, Visitor(server, "ann") as ann:
                upload(ann, "a.csv", b"id,a\nx,1\ny,2\n")
                page.goto(f"{ann.base}/work")
                page.get_by_role("cell", name="Reading a table").first.wait_for()
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= size["width"]
                page.get_by_role("button", name="Cancel").last.click()
                page.get_by_text("No job is running").wait_for()
