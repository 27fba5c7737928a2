"""Write the pages of results from the result files: `python scripts/make_results.py [FOLDER]`.

Reads `benchmarks/results/*.json` and writes `docs/results/*.md` and their figures (or into FOLDER).
The pages are not kept in the repository: the site makes them again when it is built. A file that
does not say how it was made is refused, and nothing is written.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import record  # noqa: E402
from benchmarks.pages import (  # noqa: E402
    boxes,
    choice,
    claims,
    classes,
    cost,
    goals,
    labels,
    overview,
    pools,
    tables,
)
from benchmarks.pages.result_files import Figures, Page, load  # noqa: E402

PAGES: dict[str, Page] = {
    "index": overview.page,
    "choice": choice.page,
    "labels": labels.page,
    "goals": goals.page,
    "classes": classes.page,
    "tables": tables.page,
    "cost": cost.page,
    "claims": claims.page,
    "pools": pools.page,
    "boxes": boxes.page,
}  # one whose files are not there is left out (`overview.there`)

PAPER_PART = "claims-table.txt"  # included by docs/understand/paper.md


def made(results: Path) -> dict[str, bytes]:
    """All pages and figures by file name, from a folder of result files."""
    files, figures = load(results), Figures()
    if "learn" not in files:
        raise ValueError("there is no learn.json: ./scripts/results learn makes it")
    names = ("index", *overview.there(files))
    pages = {f"{name}.md": PAGES[name](files, figures).encode() for name in names}
    parts = {PAPER_PART: claims.part_of_paper_page(files).encode()} if "claims" in files else {}
    return {**pages, **parts, **figures}


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--results", type=Path, default=record.RESULTS, help="the result files")
    given = parser.parse_args()
    try:
        files = made(given.results)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (given.folder / name).write_bytes(content)
    print(f"{len(files)} files in {given.folder}")


if __name__ == "__main__":
    main()
