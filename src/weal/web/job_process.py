"""The child process of a worker: `python -m weal.web.job_process`, jobs as JSON lines.

The first line names the store and the folder. Every further line is a job; the process answers
with any number of progress lines, then one line with the answer or the error. It ends when its
input ends, also in the middle of a job.
"""

import json
import os
import queue
import sys
import threading
import traceback
from pathlib import Path
from typing import TextIO, TypedDict

from weal.errors import DiskFull, WealError
from weal.logs import configure, hide, request
from weal.store.protocol import open_store
from weal.store.urls import secrets
from weal.web.job_context import Arguments, JobContext, read_only_store
from weal.web.job_runners import error_fields
from weal.web.jobs import run
from weal.web.server_folder import NO_ROOM, is_disk_full


class JobLine(TypedDict):
    """A job as the server sends it."""

    kind: str
    arguments: Arguments
    request_id: str  # of the request that started the job; empty: of none


def main() -> None:
    """Run jobs until the input ends."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    first = json.loads(sys.stdin.readline())
    if first["logs"]:
        hide(secrets(first["store"]))
        configure(**first["logs"])
    store = open_store(first["store"])
    store = read_only_store(store) if first["read_only"] else store
    context = JobContext(store, Path(first["folder"]))
    try:
        for job in iter(_read_jobs(sys.stdin).get, None):
            _answer(context, job, out)
    except BrokenPipeError:  # the server is gone
        os._exit(0)
    except BaseException:  # noqa: BLE001  printed, and the end of this process
        traceback.print_exc()
        os._exit(1)  # Python's own exit would abort: a thread is reading stdin


def _read_jobs(source: TextIO) -> "queue.Queue[JobLine]":
    """A queue of the jobs read by a thread; the end of the input ends the process at once."""
    jobs: queue.Queue[JobLine] = queue.Queue()

    def listen() -> None:
        try:
            for line in source:
                jobs.put(json.loads(line))
        finally:  # also after half a line, from a server that was killed while it wrote
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    return jobs


def _answer(context: JobContext, job: JobLine, out: TextIO) -> None:
    """Run one job and write its progress lines and its answer or error."""

    def write(**line: object) -> None:
        out.write(json.dumps(line) + "\n")
        out.flush()

    try:
        with request(job["request_id"]):
            answer = run(context, job["kind"], job["arguments"], lambda *done: write(progress=done))
        write(answer=answer)
    except Exception as error:  # noqa: BLE001  the server raises it in the view that waits
        full = is_disk_full(error) and not isinstance(error, WealError)
        write(error=error_fields(DiskFull(NO_ROOM) if full else error))


if __name__ == "__main__":
    main()
