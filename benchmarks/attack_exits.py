"""Exit codes of commands whose timer fires at the worst moment: part of `benchmarks/attack.py`.

A process that has imported everything forks one for each command. The fork runs the command with
the real `main` and leaves as every Python process does. The timer that says "examining ..." after
two seconds is set to a random part of what the command took before, so that in some runs it writes
while Python shuts down. Before this was fixed, 2 to 6 % of such runs of `weal doctor` ended with
SIGABRT.
"""

import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

COMMANDS = (*["doctor --store weal.db"] * 8, "predict lab new.csv", "ask lab")
ROWS = 400  # more than are asked for in 2,000 runs


def begin(folder: Path) -> None:
    """A small store, and a table to predict."""
    lines = [f"r{n},{n * n % 97 / 7},{n * 37 % 101 / 9}" for n in range(ROWS)]
    (folder / "pool.csv").write_text("\n".join(["name,a,b", *lines]))
    (folder / "new.csv").write_text("name,a,b\nx1,3.5,2.5\nx2,7.5,1.5\n")
    labels = [f"r{n},{n * 13 % 31}" for n in range(0, 60, 3)]
    (folder / "labels.csv").write_text("\n".join(["name,value", *labels]))
    for words in ("new lab --pool pool.csv --id name", "tell lab --file labels.csv", "ask lab"):
        command = [sys.executable, "-c", "from weal.cli.main import main; main()", *words.split()]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


def run(folder: Path, seed: str, size: int, show: Callable[[int], object]) -> dict[str, Any]:
    """How so many commands ended: exit code -> how often; a signal is negative."""
    ends = Counter[str]()
    with subprocess.Popen(
        [sys.executable, __file__, seed, str(size)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "WEAL_STORE": "weal.db"},
    ) as forking:  # fmt: skip
        for line in forking.stdout or ():
            ends[line.strip()] += 1
            show(ends.total())
    if ends.total() != size:
        raise RuntimeError(f"{ends.total()} of {size} commands were run")
    return {"ends": dict(ends)}


def summary(name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    """One line of the table."""
    ends = Counter[str]()
    for one in found:
        ends.update(one["ends"])
    by_signal = sum(n for end, n in ends.items() if " -" in end)
    row = {"what": name, "runs": ends.total(), "ended": dict(ends), "ended by a signal": by_signal}
    return {**row, "failed": any(not end.endswith(" 0") for end in ends)}


def fork_all(seed: str, size: int) -> list[str] | None:
    """The words of a command for a fork; None for the process that has forked them all."""
    rng, took = random.Random(seed), {words: [0.3] for words in COMMANDS}
    for k in range(size):
        words = COMMANDS[k % len(COMMANDS)]
        after = rng.uniform(0.0, 1.1) * statistics.median(took[words])
        begun = time.perf_counter()
        child = os.fork()
        if child == 0:
            from weal.cli import screen

            screen.SECONDS_BEFORE_WORDS = after
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return words.split()
        end = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        took[words] = [*took[words][-20:], time.perf_counter() - begun]
        print(words.split()[0], end, flush=True)
    return None


if __name__ == "__main__":
    import pyarrow.parquet  # noqa: F401

    import weal.campaign.predict
    import weal.cli.commands.ask
    import weal.cli.commands.doctor
    import weal.cli.commands.predict
    import weal.store.integrity
    import weal.store.sqlite  # noqa: F401
    from weal.cli.main import main

    found = fork_all(sys.argv[1], int(sys.argv[2]))
    if found is not None:
        main(found)
