import sys

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes as sklearn_diabetes

from weal.benchmark import datasets
from weal.benchmark.data_folders import NotAvailable, cache_folder
from weal.benchmark.datasets import to_csv


def california_values(data_folder):
    table = datasets.load_california(data_folder)
    return np.column_stack([table.X, table.y])


def test_california_is_the_table_of_the_provenance(data_folder):
    # [1, data:california]
    table = datasets.load_california(data_folder)
    means = (3.870671, 28.639486, 5.429000, 1.096675, 1425.4767, 3.070655, 35.631861, -119.569704)
    assert table.X.shape == (20640, 8)
    assert table.columns[0] == "MedInc"
    assert table.target == "MedHouseVal"
    assert table.where == str(data_folder / "california.csv")
    np.testing.assert_allclose(table.X.mean(axis=0), means, rtol=1e-6)
    assert table.y.mean() == pytest.approx(2.068558, abs=1e-6)
    assert table.y.std(ddof=1) == pytest.approx(1.153956, abs=1e-6)
    assert (table.y == 5.00001).sum() == 965


def test_california_is_read_bit_for_bit_as_it_was_written(data_folder):
    text = (data_folder / "california.csv").read_text()
    assert to_csv(california_values(data_folder)) == text


def test_copies_of_california_that_differ_in_the_last_bit_are_the_same_table(data_folder):
    exact = california_values(data_folder)
    copy = exact.copy()
    for column in (2, 3, 5):
        copy[::3, column] = np.nextafter(copy[::3, column], np.inf)
        copy[1::3, column] = np.nextafter(copy[1::3, column], -np.inf)
    assert (copy != exact).sum() > 20_000
    np.testing.assert_array_equal(datasets.check_california(copy, "a copy"), exact)


def test_another_table_under_the_name_of_california_is_refused(data_folder, tmp_path):
    exact = california_values(data_folder)
    swapped = exact.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    for values, message in (
        (exact[:-1], "20639 rows"),
        (exact * 1.01, "its means are"),
        (swapped, "some of its numbers differ"),
    ):
        (tmp_path / "california.csv").write_text(to_csv(values))
        with pytest.raises(ValueError, match=message):
            datasets.load_california(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "has the columns a, b"),
        (",".join(datasets.MALARIA_COLUMNS) + "\n", "no rows"),
        (",".join(datasets.MALARIA_COLUMNS) + "\n1,2,3,4,5,6,7,8,x\n", "is damaged"),
        (",".join(datasets.MALARIA_COLUMNS) + "\n1,2,3,4,5,6,7,8,nan\n", "finite"),
        (",".join(datasets.MALARIA_COLUMNS) + "\n1,2,3,4,5,6,7,8,0.5\n", "has 1 rows"),
        ("\udcff", "cannot be read"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(tmp_path, text, message):
    path = tmp_path / datasets.MALARIA_FILE
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load_malaria_standin(tmp_path)
    assert str(path) in str(caught.value)


def test_the_malaria_stand_in_has_eight_features_and_a_rate(data_folder):
    # [1, data:malaria]
    table = datasets.load_malaria_standin(data_folder)
    assert table.X.shape == (1500, 8)
    assert table.target == "theta"
    assert 0 <= table.y.min() < table.y.max() <= 1
    assert table.where.endswith("malaria_standin_hotspots_civ.csv")


def test_diabetes_is_scikit_learns():
    # [1, data:diabetes]
    table = datasets.load_diabetes()
    X, y = sklearn_diabetes(return_X_y=True)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y)
    np.testing.assert_allclose(table.X.std(axis=0), 0.0476, atol=1e-4)
    assert "scikit-learn" in table.where


def test_tables_are_read_only(data_folder):
    for table in (datasets.load_diabetes(), datasets.load_malaria_standin(data_folder)):
        with pytest.raises(ValueError, match="read-only"):
            table.X[0, 0] = 1.0


def test_the_folder_given_comes_before_weal_data_and_that_before_the_cache(tmp_path, monkeypatch):
    folders = [tmp_path / "given", tmp_path / "named", cache_folder() / "data"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "california.csv").touch()
    monkeypatch.setenv("WEAL_DATA", str(folders[1]))
    for folder in folders:
        given = folders[0] if folders[0].exists() else None
        assert datasets.find_california(given).where == str(folder / "california.csv")
        (folder / "california.csv").unlink()
        if folder == folders[0]:
            folder.rmdir()


def test_an_installed_shapiq_is_a_source_and_is_not_imported(data_folder, tmp_path, monkeypatch):
    text = (data_folder / "california.csv").read_text()
    file = tmp_path / "site" / "shapiq" / "datasets" / "data" / "california_housing.csv"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (tmp_path / "site" / "shapiq" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "shapiq", raising=False)
    table = datasets.load_california()
    assert "shapiq" in table.where
    np.testing.assert_array_equal(table.X, datasets.load_california(data_folder).X)


def test_what_scikit_learn_downloaded_once_is_a_source(data_folder, tmp_path):
    T = california_values(data_folder)
    homes = np.rint(T[:, 4] / T[:, 5])
    cents = np.rint(T[:, 8] * 100000)
    raw = np.column_stack([cents, T[:, 0], T[:, 1], T[:, 2] * homes, T[:, 3] * homes, T[:, 4]])
    raw[:, 3:5] = np.rint(raw[:, 3:5])
    (tmp_path / "sklearn").mkdir()
    joblib.dump(np.column_stack([raw, homes, T[:, 6:8]]), tmp_path / "sklearn/cal_housing_py3.pkz")
    table = datasets.load_california()
    assert "scikit-learn's downloads" in table.where
    np.testing.assert_array_equal(np.column_stack([table.X, table.y]), T)


def test_looking_for_a_table_makes_no_folder(tmp_path):
    for find in (datasets.find_california, datasets.find_malaria_standin):
        with pytest.raises(NotAvailable):
            find(None)
    assert list(tmp_path.iterdir()) == []


def test_a_data_folder_that_does_not_exist_is_said(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="no such folder"):
        datasets.load_california(tmp_path / "nowhere")
    monkeypatch.setenv("WEAL_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=r"WEAL_DATA is .* no such folder"):
        datasets.load_malaria_standin()
