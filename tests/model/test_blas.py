"""One BLAS thread while experts are settled, and what was there before afterwards."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from weal import EnsembleGPRegressor
from weal.model import expert_selection
from weal.model.blas import one_thread


def threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@pytest.fixture
def two():
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_a_limit_ends_with_its_block_also_when_that_fails(two):
    limit = one_thread()
    limit.__enter__()
    assert threads() == {1}
    error = ValueError("in vain")
    assert not limit.__exit__(ValueError, error, None)
    assert threads() == {2}


def test_the_last_that_is_done_gives_back_what_was_there(two):
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}
    second.__exit__(None, None, None)
    assert threads() == {2}


def test_experts_are_settled_with_one_thread(two, monkeypatch):
    seen, choose = [], expert_selection.model_selection.select_models

    def watched(*args, **options):
        seen.append(threads())
        return choose(*args, **options)

    monkeypatch.setattr(expert_selection.model_selection, "select_models", watched)
    X = np.random.default_rng(0).normal(size=(12, 3))
    EnsembleGPRegressor().fit(X, X[:, 0])
    assert seen == [{1}]
    assert threads() == {2}
