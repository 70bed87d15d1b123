"""Facets of a task: by hand, and why one is undefined."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.confounding.score import score_tasks
from einstellung.diagnoses.confounding.settings import ConfoundingSettings
from einstellung.timeline import Timeline

from .confounded import both, study, three_tasks, twins


def test_facets_by_hand():
    """Straight lines from one half over 4 epochs, not smoothed."""
    ends = {
        "scratch": {
            "T1": both(T1=1.0, T2=0.5, unconfounded=0.5),
            "T2": both(T1=0.5, T2=0.96, unconfounded=0.5) | twins("T2", (0.98, 0.60), (0.95, 0.80)),
        },
        "naive": {
            "T1": both(T1=1.0, T2=0.5, unconfounded=0.5),
            "T2": both(T1=0.5, T2=0.92, unconfounded=0.5) | twins("T2", (0.96, 0.41), (0.99, 0.25)),
        },
    }
    card = score_tasks(study(ends, seeds=(1, 2)), ConfoundingSettings(tau=0.7, window=1))
    facets = card.methods["naive"].facets["T2"]
    means = {name: facets.summary(name).mean for name in ("AD", "PD", "delta", "delta_S", "SFR_rel", "pull", "pull_S")}
    # scratch at epochs 1..4: .615 .73 .845 .96; naive: .605 .71 .815 .92; both reach .7 at 2.
    assert means == pytest.approx(
        {"AD": 0.0, "PD": 0.04, "delta": 0.55, "delta_S": 0.38, "SFR_rel": 0.17, "pull": 0.74, "pull_S": 0.15}
    )
    assert facets.why == {}
    assert facets.per_seed["2"].model_dump() == {
        "AD": 0.0,
        "E": 2.0,
        "delta": pytest.approx(0.55),
        "pull": pytest.approx(0.74),
    }
    later = score_tasks(study(ends, seeds=(1, 2)), ConfoundingSettings(tau=0.82, window=1))
    assert later.methods["naive"].facets["T2"].AD.mean == 1.0  # naive at 4, scratch at 3: later is above 0


def test_a_delay_that_is_censored_says_by_whom():
    ends = three_tasks()
    ends["naive"]["T2"] |= both(T2=0.8)
    facets = score_tasks(study(ends), ConfoundingSettings(window=1)).methods["naive"].facets
    assert facets["T2"].AD.mean is None
    assert facets["T2"].censored == {"1": "naive", "2": "naive", "3": "naive"}
    assert facets["T2"].why == {"AD": "the threshold was not reached"}
    assert facets["T3"].AD.mean == 0.0


@pytest.mark.parametrize(
    ("method", "task", "facet", "why"),
    [
        ("naive", "T1", "PD", "the first task has no training history"),
        ("scratch", "T2", "SFR_rel", "this is the baseline"),
        ("joint", "T2", "AD", "all tasks were learned jointly, so the task has no phase of its own"),
    ],
)
def test_what_is_undefined_says_why(method, task, facet, why):
    facets = score_tasks(study(three_tasks())).methods[method].facets[task]
    assert facets.summary(facet).mean is None
    assert facets.why[facet] == why


def test_without_twins_or_baseline_or_curves_facets_are_undefined():
    plain = {
        "naive": {
            "T1": both(T1=1.0, T2=0.5, unconfounded=0.5) | {"T1_val": 1.0},
            "T2": both(T1=0.5, T2=1.0, unconfounded=0.5) | {"T2_val": 1.0},
        }
    }
    alone = score_tasks(study(plain))
    assert alone.methods["naive"].facets["T2"].why["PD"] == "no baseline that is retrained from scratch in every phase"
    assert alone.methods["naive"].facets["T2"].why["delta"] == "no twins of T2 were measured"
    assert any("no method 'scratch'" in warning for warning in alone.warnings)
    made = study({**plain, "scratch": plain["naive"]}).frame
    at_the_end = made[made["split"].str.endswith("_val") | (made["epoch"] == 4)]
    facets = score_tasks(Timeline(at_the_end.reset_index(drop=True))).methods["naive"].facets["T2"]
    assert facets.why["AD"] == "accuracy on T2 was not tracked over its phase"
    assert facets.PD.mean == 0.0
