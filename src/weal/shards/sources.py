"""The files of a pool: those that a pattern, a folder, a path or a list of these means.

Files are taken in the order of their paths. A CSV file stands for the Parquet files that it is
converted to. What is no file (a link that leads nowhere, a named pipe, an empty folder that is
called like a shard) is named in one line, and nothing waits for it.
"""

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weal.shards.converting import converted
from weal.shards.files import check_is_file

PARQUET = (".parquet", ".pq")
CONVERTED = (".csv", ".tsv", ".txt")


def find_files(source: Any) -> list[Path]:
    """The files that a pattern, a folder, a path or a list of these means, in order."""
    if isinstance(source, list | tuple):
        found = [path for one in source for path in find_files(one)]
        if twice := [path for path in dict.fromkeys(found) if found.count(path) > 1]:
            raise ValueError(f"{twice[0]} is named twice")
        return found
    text = os.fspath(source)
    place = Path(text)
    if place.is_dir():
        found = _in_folder(place)
    elif os.path.lexists(place):
        found = [place]
    else:
        found = sorted(map(Path, glob.glob(text, recursive=True)))
        if not found:
            raise ValueError(f"no file matches {text!r} (from the folder {Path.cwd()})")
    return [part for path in found for part in _as_parquet(path)]


def _in_folder(place: Path) -> list[Path]:
    """The Parquet files of a folder and of the folders in it; links to folders are refused."""
    found = sorted(path for path in place.rglob("*") if _is_shard(path, place))
    for folder in (path for path in found if path.is_dir()):
        if folder.is_symlink():
            raise ValueError(
                f"{folder} is a link to a folder; name that folder itself: "
                f"open_pool([{str(place)!r}, {os.readlink(folder)!r}])"
            )
        if not any(folder in path.parents for path in found):
            raise _no_file(folder)
    files = [path for path in found if not path.is_dir()]
    if not files:
        raise _no_file(place)
    return files


def _is_shard(path: Path, place: Path) -> bool:
    if any(part.startswith(".weal-") for part in path.relative_to(place).parts):
        return False  # a draft of weal's own
    return path.suffix.lower() in PARQUET and not path.name.startswith(("_", "."))


def _no_file(folder: Path) -> ValueError:
    return ValueError(f"the folder {folder} has no Parquet file in it")


def _as_parquet(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from find_files(path)
        return
    check_is_file(path)
    if path.suffix.lower() in CONVERTED:
        yield from converted(path)
    else:
        yield Path(os.path.abspath(path))
