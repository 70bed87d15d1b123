"""The parts that Python has from numpy, scipy, its own formatting and difflib, against these."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

from einstellung.diagnoses.rigidity.settings import tau_name
from einstellung.metrics.curves import smooth
from einstellung.registry import suggestion

from .node import ask, needs_node

pytestmark = needs_node


@pytest.fixture
def call(tmp_path):
    """Call a function of the scripts with each list of arguments."""

    def calling(name, arguments):
        return ask(tmp_path, [{"call": name, "arguments": arguments}])[0]

    return calling


def test_the_t_distribution_is_right_to_1e_12(call):
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 40

    def exact(t, df):
        x = mpmath.mpf(df) / (df + mpmath.mpf(t) ** 2)
        tail = mpmath.betainc(mpmath.mpf(df) / 2, mpmath.mpf(1) / 2, 0, x, regularized=True) / 2
        return float(tail if t < 0 else 1 - tail)

    sizes = [1, 2, 3, 4, 5, 8, 11, 30, 63, 200]
    cases = [
        (t, df) for df in sizes for t in (-1e5, -300.0, -31.5, -8.0, -2.7, -1.2, -0.9, -0.1, -1e-6, 1e-3, 0.7, 2.2, 40)
    ]
    found = call("tCdf", cases)
    for (t, df), value in zip(cases, found, strict=True):
        assert math.isclose(value, exact(t, df), rel_tol=1e-12), (t, df)
    assert call("tCdf", [(0, 4)]) == [0.5]
    assert np.allclose(found, [stdtr(df, t) for t, df in cases], rtol=1e-10, atol=0)  # itself off by 3e-11 near 0


def test_its_quantiles_are_right_to_1e_12(call):
    cases = [(p, df) for df in [*range(1, 64), 199, 999] for p in (0.975, 0.95, 0.8, 0.9999)]
    found = call("tQuantile", cases)
    assert np.allclose(found, [stdtrit(df, p) for p, df in cases], rtol=1e-12, atol=0)
    assert math.isclose(found[0], math.tan(math.pi * 0.475), rel_tol=1e-14)  # one degree of freedom: Cauchy


def numbers():
    rng = np.random.default_rng(8)
    ties = [k / 2**j for j in range(1, 12) for k in (1, 3, 5, 7, 13, 101)]  # exact halves of a digit
    values = [*ties, *rng.normal(0, 1, 300), *(rng.normal(0, 1, 200) * 10.0 ** rng.integers(-12, 9, 200))]
    values += [0.0, 1.0, 10.0, 0.6, 1e-5, 99999.95, 999999.5, 1e22, 123456789.0, 0.0001, 0.00009999995]
    return [float(sign * value) for sign in (1, -1) for value in values]


def test_numbers_are_written_as_python_writes_them(call):
    shorter = [value for value in numbers() if abs(value) < 1e20]
    cases = [(value, digits, sign) for value in shorter for digits in (1, 2, 3) for sign in ("", "+")]
    assert call("fixed", cases) == [f"{value:{sign}.{digits}f}" for value, digits, sign in cases]
    cases = [(value, precision) for value in numbers() for precision in (2, 6, 10)]
    assert call("general", cases) == [f"{value:.{precision}g}" for value, precision in cases]
    taus = [0.3, 0.35000000000000003, 0.125, 0.1 + 0.2, 1.0, 1 / 3, 0.005, 0.6000000001]
    assert call("tauName", [[tau] for tau in taus]) == [tau_name(tau) for tau in taus]


def test_sums_are_numpy_s_to_the_last_bit(call):
    rng = np.random.default_rng(2)
    lists = [rng.normal(0, 10.0 ** rng.integers(-3, 3), n) for n in [*range(1, 40), 64, 127, 128, 129, 200, 300, 1000]]
    assert call("sum", [[values.tolist()] for values in lists]) == [float(values.sum()) for values in lists]


def test_curves_are_smoothed_to_the_last_bit(call):
    rng = np.random.default_rng(6)
    grids = ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [0.5, 1.0, 2.5, 3.0], [k / 7 for k in range(40)])
    cases = [
        (epochs, rng.random(len(epochs)).tolist(), window, smoothing)
        for epochs in grids
        for window in (1, 2, 3, 6)
        for smoothing in ("trailing", "centred", "none")
    ]
    for case, found in zip(cases, call("smooth", cases), strict=True):
        wanted = [None if math.isnan(value) else value for value in smooth(*case).tolist()]
        assert found == wanted, case


def test_suggestions_are_python_s(call):
    known = ["sgd", "scratch_t2", "derpp", "der", "ewc_on", "er", "gpm", "abcd", "abdc", "ĉu"]
    names = ["sdg", "scrach", "Scratch-T2", "derp", "xyz", "abc", "ewc-on", "", "ec_won", "t2_scratch", "dabc", "CU"]
    assert call("suggestion", [[name, known] for name in names]) == [suggestion(name, known) for name in names]
