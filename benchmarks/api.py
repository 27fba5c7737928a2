"""What the API costs beside Python: a tell and an ask by HTTP, in one run with `campaign.tell`.

    python benchmarks/api.py [--calls 60]

A real uvicorn in this process, on a real port, with a SQLite file; the client is httpx on one
connection that is kept alive. Calls of both kinds take turns, so that both meet the same machine,
and are compared by the median of wall time and of processor time (of the whole process: server,
client and the job's thread). The two campaigns are alike. An ask has nothing new to learn from: no
label came since the last one. Limits: a tell at most 3 times, an ask at most 1.3 times.
"""

import argparse
import json
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn

import weal
from weal.campaign.campaign import Campaign
from weal.samples import alloys, path
from weal.store.protocol import open_store
from weal.web.access import Access, AccessPolicy, get_or_create_token
from weal.web.app import create_app

MAX_TELL_RATIO, MAX_ASK_RATIO = 3.0, 1.3
START_LABELS = 30
PORT_WAIT_SECONDS = 0.01


def begin(folder: Path, name: str) -> Campaign:
    """A campaign on the sample with some labels."""
    campaign = weal.open_campaign(
        name, f"sqlite:///{folder}/weal.db", pool=path("alloys.csv"), id_column="sample",
        target="hardness", by="ann",
    )  # fmt: skip
    free = free_ids(campaign)[:START_LABELS]
    campaign.tell(free, [alloys.measure(one) for one in free])
    campaign.ask(1)
    return campaign


def free_ids(campaign: Campaign) -> list[str]:
    """The ids of rows without a label, which nobody has."""
    ledger = campaign.read_ledger()
    busy = {*ledger.leases, *ledger.labelled()}
    return [one for one in campaign.candidate_ids() if one not in busy]


@contextmanager
def served(folder: Path) -> Iterator[httpx.Client]:
    """A client of a server in this process."""
    store = open_store(f"sqlite:///{folder}/weal.db")
    token = get_or_create_token(folder)
    app = create_app(store, policy=AccessPolicy(Access(folder, store), 80), folder=folder)
    config = uvicorn.Config(app, port=0, log_level="critical", access_log=False, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(PORT_WAIT_SECONDS)
    port = server.servers[0].sockets[0].getsockname()[1]
    headers = {"Authorization": f"Bearer {token}"}
    base = f"http://127.0.0.1:{port}/api/v1/campaigns"
    with httpx.Client(base_url=base, headers=headers, timeout=300, trust_env=False) as client:
        yield client
    server.should_exit = True
    thread.join()
    store.close()


Times = tuple[list[float], list[float]]  # wall and processor seconds of each call


def measure(calls: dict[str, Callable[[int], object]], n: int) -> dict[str, Times]:
    """The times of n calls of each kind, which take turns; the first of each is not counted."""
    found: dict[str, Times] = {name: ([], []) for name in calls}
    for k in range(n + 1):
        for name, call in calls.items():
            wall, processor = time.perf_counter(), time.process_time()
            call(k)
            if k:
                found[name][0].append(time.perf_counter() - wall)
                found[name][1].append(time.process_time() - processor)
    return found


def compare(name: str, times: dict[str, Times], limit: float) -> dict[str, object]:
    """Medians in milliseconds, and their ratios."""
    own, api = ([statistics.median(one) for one in times[kind]] for kind in ("python", "api"))
    ratios = [there / here for here, there in zip(own, api, strict=True)]
    line: dict[str, object] = {
        "call": name,
        "python_wall_ms": round(1e3 * own[0], 2), "api_wall_ms": round(1e3 * api[0], 2),
        "python_cpu_ms": round(1e3 * own[1], 2), "api_cpu_ms": round(1e3 * api[1], 2),
        "wall_ratio": round(ratios[0], 2), "cpu_ratio": round(ratios[1], 2),
        "limit": limit, "within": max(ratios) <= limit,
    }  # fmt: skip
    return line


def run(n: int) -> list[dict[str, object]]:
    """Both comparisons."""
    with tempfile.TemporaryDirectory(prefix="weal-api-") as name:
        folder = Path(name)
        own, other = begin(folder, "by-python"), begin(folder, "by-api")

        def post(action: str, body: dict[str, object]) -> None:
            client.post(f"/by-api/{action}", json=body).raise_for_status()

        with served(folder) as client:
            post("ask", {"n": 1, "only_ids": True, "by": "ann"})
            asks = measure(
                {
                    "python": lambda k: own.ask(1),
                    "api": lambda k: post("ask", {"n": 1, "only_ids": True, "by": "ann"}),
                },
                n,
            )
            left = [one for one in free_ids(own) if one in free_ids(other)]
            tells = measure(
                {
                    "python": lambda k: own.tell(left[k], alloys.measure(left[k])),
                    "api": lambda k: post(
                        "tell", {"id": left[k], "value": alloys.measure(left[k]), "by": "ann"}
                    ),
                },
                n,
            )
        own.close()
        other.close()
    return [compare("tell", tells, MAX_TELL_RATIO), compare("ask", asks, MAX_ASK_RATIO)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=60, help="calls of each kind")
    warnings.simplefilter("ignore")
    for line in run(parser.parse_args().calls):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
