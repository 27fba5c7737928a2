"""The worker's process: `python -m weal.web.job_process`, spoken to in lines of JSON.

First comes what it works on; then a job a line, and for each any number of lines with its progress,
and one with its answer or its error. It ends when its input does, also in the middle of a job.
"""

import json
import os
import queue
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, TextIO

from weal.errors import WealError
from weal.store.protocol import open_store
from weal.web.job_context import JobContext, reading_only
from weal.web.jobs import run
from weal.web.server_folder import NO_ROOM, is_disk_full


def main() -> None:
    """Do jobs until there are no more."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    given = json.loads(sys.stdin.readline())
    store = open_store(given["store"])
    shelf = JobContext(reading_only(store) if given["read_only"] else store, Path(given["folder"]))
    try:
        for job in iter(_lines(sys.stdin).get, None):
            _answer(shelf, job, out)
    except BrokenPipeError:  # the server is gone
        os._exit(0)
    except BaseException:  # noqa: BLE001  shown, and the end of this process
        traceback.print_exc()
        os._exit(1)  # Python's own exit would abort: a thread of ours is reading stdin


def _lines(source: TextIO) -> "queue.Queue[Any]":
    """Jobs as they come; the end of the input ends the process, whatever it is at."""
    lines: queue.Queue[Any] = queue.Queue()

    def listen() -> None:
        try:
            for line in source:
                lines.put(json.loads(line))
        finally:  # also after half a line, of a server that was killed while it wrote
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    return lines


def _answer(shelf: JobContext, job: dict[str, Any], out: TextIO) -> None:
    def say(**words: Any) -> None:
        out.write(json.dumps(words) + "\n")
        out.flush()

    try:
        answer = run(shelf, job["kind"], job["given"], lambda *far: say(progress=far))
        say(answer=answer)
    except Exception as error:  # noqa: BLE001  the server says it to whoever waits
        full = is_disk_full(error) and not isinstance(error, WealError)
        say(error=["DiskFull", NO_ROOM] if full else [type(error).__name__, str(error)])


if __name__ == "__main__":
    main()
