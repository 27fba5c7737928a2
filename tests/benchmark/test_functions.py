import numpy as np
import pytest

from weal.benchmark.tasks import FUNCTIONS, currin

CHECKS = [
    ("branin", (-np.pi, 12.275), 0.397887),
    ("branin", (0, 0), 55.602113),
    ("branin", (2.5, 7.5), 24.129964),
    ("currin", (0.5, 0.5), 7.405124),
    ("currin", (1, 1), 4.005316),
    ("currin", (0.25, 0), 13.708479),
    ("gramacy", (1,), 0.0),
    ("gramacy", (0.548563444,), -0.869011),
    ("higdon", (2.5,), 1.0),
    ("higdon", (1,), 0.705342),
    ("ackley", (0,) * 5, 0.0),
    ("ackley", (1,) * 5, 3.625385),
    ("ackley", (0.5,) * 5, 4.253654),
]
MOMENTS = {  # mean and sd over the domain
    "ackley": (10.21, 1.45),
    "branin": (54.36, 51.30),
    "currin": (7.60, 2.65),
    "gramacy": (0.75, 1.31),
    "higdon": (0.0, 0.72),
}


@pytest.mark.parametrize(("name", "x", "value"), CHECKS)
def test_published_values_come_out(name, x, value):
    # [1, data:ackley, data:branin, data:currin, data:gramacy, data:higdon]
    assert FUNCTIONS[name].formula(np.array([x], dtype=float)) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("name", MOMENTS)
def test_mean_and_sd_over_the_domain_are_those_of_the_facts(name):
    n = 200_000
    _, y = FUNCTIONS[name].sample(np.random.default_rng(5), n)
    mean, sd = MOMENTS[name]
    kurtosis = np.mean((y - y.mean()) ** 4) / y.var() ** 2
    error_of_mean, error_of_sd = sd / n**0.5, sd * ((kurtosis - 1) / (4 * n)) ** 0.5
    assert abs(y.mean() - mean) < 0.005 + 4 * error_of_mean  # the facts have two decimals
    assert abs(y.std() - sd) < 0.005 + 4 * error_of_sd


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inputs_are_uniform_on_the_domain(name):
    function, n = FUNCTIONS[name], 20_000
    X, y = function.sample(np.random.default_rng(2), n)
    U = (X - function.lower) / np.subtract(function.upper, function.lower)
    assert X.shape == (n, len(function.lower))
    assert y.shape == (n,)
    assert ((U >= 0) & (U <= 1)).all()
    for q in (0.1, 0.5, 0.8):
        assert abs((q > U).mean(axis=0) - q).max() < 5 * (q * (1 - q) / n) ** 0.5


def test_currin_is_continuous_at_its_edge():
    X = np.array([[0.3, 0.0], [0.3, 5e-324], [0.3, 1e-3]])
    assert np.ptp(currin(X)) == 0.0
