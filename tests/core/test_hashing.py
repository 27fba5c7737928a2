"""Hashes of ids: the same one by one and together, different for different ids, even by seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weal.core.hashing import hash_ids, hash_numbers, least, mix_with_seed

IDS = st.one_of(st.text(max_size=90), st.integers(-(2**70), 2**70), st.floats(), st.none())


@given(st.lists(IDS, max_size=12))
def test_an_id_has_one_hash_whatever_stands_beside_it(ids):
    together = hash_ids(ids).tolist()
    assert together == [int(hash_ids([name])[0]) for name in ids]


@given(st.lists(st.one_of(st.text(), st.integers()), unique_by=lambda one: (type(one), one)))
def test_different_ids_have_different_hashes(ids):
    assert len(set(hash_ids(ids).tolist())) == len(ids)


def test_text_and_number_differ_and_padding_counts():
    names = ["7", 7, "7\0", "", "\0", "a" * 64, "a" * 65, "a" * 8, "a" * 8 + "\0"]
    assert len(set(hash_ids(names).tolist())) == len(names)


@pytest.mark.parametrize("ids", [range(20_000), [f"row {n:06d}" for n in range(20_000)]])
def test_a_sample_by_hash_is_even_over_ids_that_follow_one_another(ids):
    hashes = hash_ids(ids)
    for seed in range(4):
        at = least(mix_with_seed(hashes, seed), 2_000)
        counts = np.bincount(at // 1000, minlength=20)  # 100 each, sd 9.5
        assert counts.min() > 100 - 5 * 9.5
        assert counts.max() < 100 + 5 * 9.5
        last = np.bincount(at % 10, minlength=10)
        assert np.abs(last - 200).max() < 5 * 13.5
    assert len(np.intersect1d(at, least(mix_with_seed(hashes, 77), 2_000))) < 300  # 200 by chance


def test_least_keeps_positions_in_order_and_all_where_they_are_few():
    hashes = hash_numbers(np.arange(50))
    at = least(hashes, 7)
    assert at.tolist() == sorted(np.argsort(hashes)[:7].tolist())
    assert least(hashes, 60).tolist() == list(range(50))
