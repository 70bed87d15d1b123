"""The facets: by hand and by their symmetries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.metrics.eri import (
    adaptation_delay,
    censored_side,
    cue_delta,
    performance_deficit,
    relative_reliance,
    relative_sensitivity,
)

maybe = st.one_of(st.none(), st.floats(-50, 50))


def test_the_recorded_run_by_hand():
    """SGD patched .81, masked .33; scratch patched .76, masked .19."""
    delta_cl, delta_s = cue_delta(0.81, 0.33), cue_delta(0.76, 0.19)
    assert delta_cl == pytest.approx(0.48)
    assert delta_s == pytest.approx(0.57)
    assert performance_deficit(0.76, 0.81) == pytest.approx(-0.05)
    assert relative_reliance(delta_cl, delta_s) == pytest.approx(-0.09)
    assert relative_sensitivity(delta_cl, delta_s) == pytest.approx(-0.09)
    assert relative_sensitivity(-0.3, 0.1) == pytest.approx(0.2)


@pytest.mark.parametrize(
    "facet", [adaptation_delay, performance_deficit, cue_delta, relative_reliance, relative_sensitivity]
)
@given(maybe, maybe)
def test_swapping_the_models_flips_the_sign(facet, a, b):
    if a is None or b is None:
        assert facet(a, b) is None
    else:
        assert facet(a, b) == -facet(b, a)


def test_censoring_names_the_side():
    assert censored_side(None, None, "sgd", "scratch") == "both"
    assert censored_side(None, 3.0, "sgd", "scratch") == "sgd"
    assert censored_side(3.0, None, "sgd", "scratch") == "scratch"
    assert censored_side(3.0, 3.0, "sgd", "scratch") is None
