"""The card of confounded tasks: the matrix, the paper's columns, forgetting, facets; by hand and against the paper's figures."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from einstellung.diagnoses.confounding.score import confounding_score
from einstellung.diagnoses.confounding.settings import ConfoundingSettings
from einstellung.diagnoses.confounding.splits import is_confounding, tasks_of
from einstellung.diagnoses.rigidity.settings import ScoreSettings
from einstellung.errors import InputError
from einstellung.timeline import Timeline

from .confounded import both, figure_6_ends, study, three_tasks, twins
from .timelines import rows, timeline

# What the paper prints in Table 1 (NN, disjoint) for the methods whose figure 6 can be read.
TABLE_1 = {
    "naive": {"T1": 100.0, "T2": 92.2, "T3": 100.0, "T1@T3": 50.0, "T2@T3": 63.6, "unconfounded": 48.1},
    "er": {"T1": 100.0, "T2": 99.6, "T3": 100.0, "T1@T3": 100.0, "T2@T3": 99.6, "unconfounded": 50.1},
    "cumulative": {"T1": 100.0, "T2": 100.0, "T3": 100.0, "T1@T3": 100.0, "T2@T3": 99.9, "unconfounded": 49.9},
}


def method_of(ends, method="naive", **options):
    return confounding_score(study(ends, **options))["methods"][method]


@pytest.mark.parametrize("method", TABLE_1)
def test_figure_six_gives_the_papers_table_one(method):
    record = confounding_score(study(figure_6_ends(), seeds=(1,)))["methods"][method]
    found = {**record["current"], **record["old"], "unconfounded": record["unconfounded"]}
    assert {name: value["mean"] * 100 for name, value in found.items()} == pytest.approx(TABLE_1[method], abs=0.0501)


def test_positives_and_negatives_stay_apart():
    matrix = confounding_score(study(figure_6_ends(), seeds=(1,)))["methods"]["naive"]["matrix"]
    assert matrix["T2"]["unconfounded"]["positive"]["mean"] == pytest.approx(0.9712)
    assert matrix["T2"]["unconfounded"]["negative"]["mean"] == pytest.approx(0.0496)
    assert matrix["T2"]["unconfounded"]["mean"]["mean"] == pytest.approx((0.9712 + 0.0496) / 2)
    assert list(matrix) == ["T1", "T2", "T3"]


def test_the_matrix_is_what_a_groupby_says():
    """An independent way over the same rows: the last epoch of every phase, with pandas."""
    random = np.random.default_rng(5)
    splits = [f"{what}_{label}" for what in ("T1", "T2", "T3", "unconfounded") for label in ("positive", "negative")]
    ends = {
        method: {phase: dict(zip(splits, random.random(8), strict=True)) for phase in ("T1", "T2", "T3")}
        for method in ("a", "b")
    }
    made = study(ends, seeds=(3, 4, 5), spread=0.05)
    card = confounding_score(made)
    frame = made.frame
    last = frame[frame["epoch"] == frame.groupby(["method", "seed", "phase"])["epoch"].transform("max")]
    task = last.assign(what=last["split"].str.rpartition("_")[0])
    per_seed = task.groupby(["method", "seed", "phase", "what"])["acc"].mean()
    for (method, phase, what), values in per_seed.groupby(level=["method", "phase", "what"]):
        estimate = card["methods"][method]["matrix"][phase][what]["mean"]
        low, high = stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
        assert estimate["mean"] == pytest.approx(values.mean())
        assert estimate["sd"] == pytest.approx(values.std(ddof=1))
        assert estimate["ci95"] == pytest.approx([low, high])


def test_forgetting_by_hand():
    ends = {
        "T1": both(T1=0.9, T2=0.5, T3=0.5, unconfounded=0.5),
        "T2": both(T1=0.95, T2=0.8, T3=0.5, unconfounded=0.5),
        "T3": both(T1=0.6, T2=0.7, T3=0.9, unconfounded=0.5),
    }
    record = method_of({"naive": ends}, seeds=(1,))
    assert record["forgetting"]["T1"]["mean"] == pytest.approx(0.35)  # best of .9 and .95 before T3
    assert record["forgetting"]["T2"]["mean"] == pytest.approx(0.1)
    assert record["continual"]["forgetting"]["mean"] == pytest.approx(0.225)
    assert record["continual"]["BWT"]["mean"] == pytest.approx(((0.6 - 0.9) + (0.7 - 0.8)) / 2)
    assert record["continual"]["average_accuracy"]["mean"] == pytest.approx((0.6 + 0.7 + 0.9) / 3)


def test_training_minus_test_is_the_gap():
    ends = {
        "T1": both(T1=0.9, T2=0.5, unconfounded=0.5) | {"T1_train": 1.0, "T2_train": 0.5},
        "T2": both(T1=0.8, T2=0.7, unconfounded=0.5) | {"T1_train": 0.96, "T2_train": 0.98},
    }
    record = method_of({"cumulative": ends}, "cumulative", seeds=(1,))
    gaps = {name: estimate["mean"] for name, estimate in record["generalisation_gap"].items()}
    assert gaps == pytest.approx({"T1": 0.1, "T2": 0.28, "end": (0.16 + 0.28) / 2})


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
    card = confounding_score(study(ends, seeds=(1, 2)), ConfoundingSettings(tau=0.7, window=1))
    facets = card["methods"]["naive"]["facets"]["T2"]
    means = {name: facets[name]["mean"] for name in ("AD", "PD", "delta", "delta_S", "SFR_rel", "pull", "pull_S")}
    # scratch at epochs 1..4: .615 .73 .845 .96; naive: .605 .71 .815 .92; both reach .7 at 2.
    assert means == pytest.approx(
        {"AD": 0.0, "PD": 0.04, "delta": 0.55, "delta_S": 0.38, "SFR_rel": 0.17, "pull": 0.74, "pull_S": 0.15}
    )
    assert facets["why"] == {}
    assert facets["per_seed"]["2"] == {"AD": 0.0, "E": 2.0, "delta": pytest.approx(0.55), "pull": pytest.approx(0.74)}
    later = confounding_score(study(ends, seeds=(1, 2)), ConfoundingSettings(tau=0.82, window=1))
    assert later["methods"]["naive"]["facets"]["T2"]["AD"]["mean"] == 1.0  # naive at 4, scratch at 3: later is above 0


def test_a_delay_that_is_censored_says_by_whom():
    ends = three_tasks()
    ends["naive"]["T2"] |= both(T2=0.8)
    facets = confounding_score(study(ends), ConfoundingSettings(window=1))["methods"]["naive"]["facets"]
    assert facets["T2"]["AD"]["mean"] is None
    assert facets["T2"]["censored"] == {"1": "naive", "2": "naive", "3": "naive"}
    assert facets["T2"]["why"] == {"AD": "the threshold was not reached"}
    assert facets["T3"]["AD"]["mean"] == 0.0


@pytest.mark.parametrize(
    ("method", "task", "facet", "why"),
    [
        ("naive", "T1", "PD", "the first task has no history"),
        ("scratch", "T2", "SFR_rel", "the baseline is what the others are compared with"),
        ("joint", "T2", "AD", "all tasks were learned at once: no phase of its own"),
    ],
)
def test_what_is_undefined_says_why(method, task, facet, why):
    facets = confounding_score(study(three_tasks()))["methods"][method]["facets"][task]
    assert facets[facet]["mean"] is None
    assert facets["why"][facet] == why


def test_without_twins_or_baseline_or_curves_facets_are_undefined():
    plain = {
        "naive": {
            "T1": both(T1=1.0, T2=0.5, unconfounded=0.5) | {"T1_val": 1.0},
            "T2": both(T1=0.5, T2=1.0, unconfounded=0.5) | {"T2_val": 1.0},
        }
    }
    alone = confounding_score(study(plain))
    assert alone["methods"]["naive"]["facets"]["T2"]["why"]["PD"] == "no baseline that starts fresh in every phase"
    assert alone["methods"]["naive"]["facets"]["T2"]["why"]["delta"] == "no twins of T2 were measured"
    assert any("no method 'scratch'" in warning for warning in alone["warnings"])
    made = study({**plain, "scratch": plain["naive"]}).frame
    at_the_end = made[made["split"].str.endswith("_val") | (made["epoch"] == 4)]
    facets = confounding_score(Timeline(at_the_end.reset_index(drop=True)))["methods"]["naive"]["facets"]["T2"]
    assert facets["why"]["AD"] == "the accuracy on T2 was not watched over its phase"
    assert facets["PD"]["mean"] == 0.0


def test_joint_has_one_phase_and_no_old_tasks():
    record = confounding_score(study(three_tasks()))["methods"]["joint"]
    assert record["at_once"] is True
    assert (record["old"], record["forgetting"], record["continual"]) == ({}, None, None)
    assert list(record["matrix"]) == ["T3"]
    assert record["current"]["T1"]["mean"] == pytest.approx(0.98)  # at the end of its only phase
    assert record["facets"]["T2"]["SFR_rel"]["mean"] == pytest.approx((0.98 - 0.94) - (0.98 - 0.30))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_number_of_tasks(count):
    tasks = [f"T{number}" for number in range(1, count + 1)]
    phases = {
        phase: both(**{task: 1.0 if task == phase else 0.5 for task in tasks}, unconfounded=0.55) for phase in tasks
    }
    card = confounding_score(study({"naive": phases, "scratch": phases}))
    assert card["tasks"] == tasks
    record = card["methods"]["naive"]
    assert list(record["old"]) == [f"{task}@{tasks[-1]}" for task in tasks[:-1]]
    assert record["unconfounded"]["mean"] == pytest.approx(0.55)
    assert record["at_once"] is False
    json.dumps(card, allow_nan=False)


def test_the_end_of_a_phase_is_its_last_epoch_and_a_split_that_lacks_it_is_not_replaced():
    parts = rows("naive", 1, "T1", "T1_positive", [0.7, 0.8]) + rows("naive", 1, "T1", "T1_negative", [0.9])
    card = confounding_score(timeline(parts, rows("naive", 1, "T1", "unconfounded_positive", [0.5, 0.6])))
    record = card["methods"]["naive"]
    assert record["matrix"]["T1"]["T1"]["positive"]["mean"] == 0.8
    assert record["matrix"]["T1"]["T1"]["negative"]["mean"] is None
    assert record["current"]["T1"]["mean"] is None
    assert record["verdict"]["name"] == "undecided"


def test_timelines_are_told_apart_by_their_splits():
    assert is_confounding(study({"naive": {"T1": both(T1=0.9)}}))
    assert is_confounding(study({"naive": {"T1": both(unconfounded=0.9)}}))
    eri = timeline(rows("sgd", 1, "T2", "T2_shortcut_normal", [0.5]))
    assert not is_confounding(eri)
    with pytest.raises(InputError, match="no confounded tasks in the timeline"):
        confounding_score(eri)
    assert tasks_of(study({"naive": {"T1": both(T4=0.9)}})) == ("T1", "T2", "T3", "T4")


def test_settings_that_mean_nothing_here_are_refused():
    asked = ScoreSettings(tau=0.8, window=2, level=0.6)
    assert ConfoundingSettings.of_score(asked) == ConfoundingSettings(tau=0.8, window=2, level=0.6)
    with pytest.raises(InputError, match=r"level is 0\.4: a number above chance"):
        ConfoundingSettings.of_score(ScoreSettings(level=0.4))
    with pytest.raises(InputError, match="best-val"):
        ConfoundingSettings.of_score(ScoreSettings(final="best-val"))
    with pytest.raises(InputError, match=r"tau is 0\.4: a number above chance"):
        ConfoundingSettings(tau=0.4)
    with pytest.raises(InputError, match="no baseline 'scrath' in the timeline: did you mean 'scratch'"):
        confounding_score(study(three_tasks()), ConfoundingSettings(baseline="scrath"))


def test_a_seed_without_baseline_is_said_and_left_out():
    made = study(three_tasks()).frame
    kept = made[(made["method"] != "scratch") | (made["seed"] != 2)].reset_index(drop=True)
    card = confounding_score(Timeline(pd.DataFrame(kept)))
    assert card["methods"]["naive"]["facets"]["T2"]["PD"]["n"] == 2
    assert card["methods"]["naive"]["facets"]["T2"]["delta"]["n"] == 3
    assert any(
        "no scratch run for seed 2 of naive: paired facets leave it out" in warning for warning in card["warnings"]
    )
