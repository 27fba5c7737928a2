"""Accuracy of weal on real labels: `python benchmarks/real.py [SECTION ...] [--seeds 0:20]`.

Sections, each a module of `real_labels`: outliers, noise, varying, dictionary, many, choice,
suspects, categories, and, with `--against`, a checkout of another commit, budget, inputs and few.
Each prints what was asked and what was measured, and may be run alone; `--to FILE` keeps the rows
(`record`). Nothing is asserted; one BLAS thread.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

SECTIONS = (
    "outliers", "noise", "varying", "dictionary", "many", "choice", "suspects", "categories",
)  # fmt: skip
COMPARED = ("budget", "inputs", "few")  # with another commit


def seeds_of(text: str) -> range:
    """Seeds "0:20" as a range."""
    first, last = (int(part) for part in text.split(":"))
    return range(first, last)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("section", nargs="*", choices=[*SECTIONS, *COMPARED])
    parser.add_argument("--seeds", type=seeds_of, default=range(20), help="first:last, 0:20")
    parser.add_argument(
        "--against", type=Path, help="a checkout of another commit, for budget, inputs and few"
    )
    record.add_option(parser)
    given = parser.parse_args()
    found: list[dict[str, str]] = []
    for name in given.section or SECTIONS:
        section = importlib.import_module(f"benchmarks.real_labels.{name}")
        print(f"\n{name}\n{'-' * len(name)}", flush=True)
        both = (given.seeds, given.against)
        wanted = {"budget": (given.against,), "inputs": both, "few": both}
        if name in COMPARED and given.against is None:
            parser.error(f"{name} needs --against, a checkout of the commit to compare with")
        for what, asked, measured in section.rows(*wanted.get(name, (given.seeds,))):
            print(f"{what:70s} {asked:>16s}   {measured}", flush=True)
            found.append({"section": name, "what": what, "asked": asked, "measured": measured})
        if given.to:  # after each section: a run that is stopped has kept the others
            seeds = f"{given.seeds.start}:{given.seeds.stop}"
            record.write(given.to, "real labels", found, seeds)


if __name__ == "__main__":
    main()
