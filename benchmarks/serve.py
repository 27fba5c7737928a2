"""Time of the pages of `weal serve`, as ratios measured in one run.

    python benchmarks/serve.py [LABELS] [CANDIDATES] [--to FILE]      (10000 and 100000)

A store of that size and a real server; each page is asked for in turn, and medians are compared
with that of /healthz, the least a request can cost. Predictions for Explore are made up: the pages
read what the worker has kept, whatever it is. Keeping a label through the page is compared with
`campaign.tell` on the same disk, and the first answer of `weal serve` with the import of FastAPI.
Times of pages are of the processor in the file (`record`), those of the clock are printed too.
"""

import argparse
import csv
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

import weal
from weal.store.urls import read_name
from weal.web import candidate_search
from weal.web.server_folder import JobResults, server_folder

TURNS, TIMES, LABELS_KEPT = 60, 200, 100
NAME = "large"
WEAL = [sys.executable, "-c", "from weal.cli.main import main; main()"]
COLUMNS = [f"x{k}" for k in range(8)]


def make(folder: Path, labels: int, candidates: int) -> str:
    """A store with one campaign; its address."""
    draw = random.Random(0)
    with (folder / "pool.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["sample", *COLUMNS, "y"])
        for n in range(candidates):
            x = [f"{draw.gauss(0, 1):.4f}" for _ in COLUMNS]
            lines.writerow([f"A-{n}", *x, f"{draw.gauss(0, 1):.4f}" if n < labels else ""])
    url = f"sqlite:///{folder}/weal.db"
    weal.open_campaign(
        NAME, url, pool=folder / "pool.csv", id_column="sample", target="y", by="ann"
    ).close()
    return url


def keep_results(url: str, candidates: int) -> None:
    """What the worker would have kept: the cells of all rows, and predictions (made up)."""
    kept, draw = JobResults(server_folder(read_name(url))), random.Random(1)
    with weal.open_campaign(NAME, url) as campaign:
        seq = campaign.read_ledger().seq
    cells = [[draw.gauss(0, 1) for _ in COLUMNS] for _ in range(candidates)]
    kept.write_rows(NAME, seq, ((f"A-{n}", "{}") for n in range(candidates)))
    path = kept.path(NAME, candidate_search.CANDIDATES_FILE)
    rows = ((f"A-{n}", None, *cells[n][:4], *cells[n]) for n in range(candidates))
    candidate_search.write(path, seq, COLUMNS, list(map(list, zip(*rows, strict=True))))


@contextmanager
def serving(url: str) -> Iterator[tuple[str, int, float]]:
    """A server: its address with the token, its process, seconds until its first answer."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*WEAL, "serve", "--port", "0", "--store", url], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    found = re.search(r"http\S+", process.stdout.readline())
    assert found is not None
    httpx.get(found[0].split("?")[0] + "healthz", trust_env=False, timeout=60)
    try:
        yield found[0], process.pid, time.perf_counter() - begun
    finally:
        process.terminate()
        process.communicate()


def paths_of(candidates: int) -> dict[str, str]:
    """Pages by name."""
    place = f"/c/{NAME}"
    return {
        "/healthz": "/healthz",
        "campaigns": "/",
        "bench": f"{place}/bench?id=A-{candidates - 1}",
        "settings": f"{place}/settings",
        "standing": f"{place}/standing",
        "explore": f"{place}/explore",
        "explore, sorted": f"{place}/explore?sort=mean",
    }


def pages(client: httpx.Client, paths: dict[str, str]) -> dict[str, float]:
    """Median seconds of each page, asked for in turn so that all have the same weather."""
    taken: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(TURNS):
        for name, path in paths.items():
            begun = time.perf_counter()
            answer = client.get(path)
            taken[name].append(time.perf_counter() - begun)
            assert answer.status_code == 200, (path, answer.text[:500])
    return {name: median(some[TURNS // 6 :]) for name, some in taken.items()}


def cpu(pid: int) -> float:
    """Seconds of processor time that the server has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def busy(client: httpx.Client, pid: int, paths: dict[str, str]) -> dict[str, float]:
    """Seconds of processor time of each page, whatever else the machine does."""
    found = {}
    for name, path in paths.items():
        before = cpu(pid)
        for _ in range(TIMES):
            client.get(path)
        found[name] = (cpu(pid) - before) / TIMES
    return found


def keeping(client: httpx.Client, pid: int, url: str, labels: int) -> tuple[float, float]:
    """Seconds of processor time to keep a label through the page, and by `campaign.tell`."""
    form = re.search(r'name="form" value="(\w+)"', client.get("/new").text)
    assert form is not None
    secret, origin = form[1], {"Origin": str(client.base_url).rstrip("/"), "HX-Request": "true"}

    def by_page(k: int) -> None:
        data = {"form": secret, "id": f"A-{labels + k}", "key": f"p{k}", "value": "1.5"}
        answer = client.post(f"/c/{NAME}/tell", data={**data, "sure": "true"}, headers=origin)
        assert answer.status_code == 200, answer.text

    with weal.open_campaign(NAME, url, by="ann") as campaign:

        def by_python(k: int) -> None:
            campaign.tell(f"A-{labels + LABELS_KEPT + k}", 1.5, key=f"t{k}")

        own = time.process_time()
        for k in range(LABELS_KEPT):
            by_python(k)
        python = time.process_time() - own
    before = cpu(pid)
    for k in range(LABELS_KEPT):
        by_page(k)
    return (cpu(pid) - before) / LABELS_KEPT, python / LABELS_KEPT


def memory(pid: int) -> float:
    """MB that the server has had at most."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def imported(what: str) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {what}"], check=True)
    return time.perf_counter() - begun


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", nargs="?", type=int, default=10_000)
    parser.add_argument("candidates", nargs="?", type=int, default=100_000)
    record.add_option(parser)
    given = parser.parse_args()
    found = measured(given.labels, given.candidates)
    if given.to:
        size = f"{given.labels:,} labels, {given.candidates:,} candidates"
        record.write(given.to, f"pages of weal serve, {size}", found, [0, 1], ("fastapi",))


def measured(labels: int, candidates: int) -> list[dict[str, Any]]:
    """A line for each thing that was measured."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        url = make(Path(name), labels, candidates)
        keep_results(url, candidates)
        starts = []
        for _ in range(3):
            with serving(url) as (_, _, seconds):
                starts.append((seconds / imported("fastapi"), seconds))
        with serving(url) as (address, pid, _):
            base = address.split("/?")[0]
            with httpx.Client(base_url=base, trust_env=False, timeout=600) as client:
                client.get(address)
                client.cookies.set("weal-who", "ann")
                paths = paths_of(candidates)
                found, spent = pages(client, paths), busy(client, pid, paths)
                page, python = keeping(client, pid, url, labels)
            most = memory(pid)
    least, cheapest = found["/healthz"], spent["/healthz"]
    print(f"{labels:,} labels, {candidates:,} candidates: median, processor time, times /healthz")
    for one, seconds in found.items():
        both = f"{1e3 * seconds:7.2f} ms {1e3 * spent[one]:7.2f} ms"
        print(f"{one:18} {both}  {seconds / least:6.1f} {spent[one] / cheapest:6.1f}")
    ratio, first = sorted(starts)[1]
    lines = [_line(one, spent[one], spent[one] / cheapest) for one in found]
    lines.append(_line("keeping a label | campaign.tell", page, page / python))
    lines.append(_line("the first answer | import of FastAPI", first, ratio))
    lines.append(_line(f"memory of the server: {most:.0f} MB at most", None, None))
    for line in lines[-3:]:
        print(*line.values(), sep="  ")
    return lines


def _line(what: str, seconds: float | None, ratio: float | None) -> dict[str, Any]:
    return {"what": what, "ms": None if seconds is None else 1e3 * seconds, "ratio": ratio}


if __name__ == "__main__":
    main()
