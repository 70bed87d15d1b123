"""The card of confounded tasks: the matrix, the paper's columns, forgetting; by hand and against the paper's figures."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from einstellung.diagnoses.confounding.score import score_tasks
from einstellung.diagnoses.confounding.settings import ConfoundingSettings
from einstellung.errors import InputError
from einstellung.timeline import Timeline

from .confounded import both, curve, figure_6_ends, study, three_tasks

# What the paper prints in Table 1 (NN, disjoint) for the methods whose figure 6 can be read.
TABLE_1 = {
    "naive": {"T1": 100.0, "T2": 92.2, "T3": 100.0, "T1@T3": 50.0, "T2@T3": 63.6, "unconfounded": 48.1},
    "er": {"T1": 100.0, "T2": 99.6, "T3": 100.0, "T1@T3": 100.0, "T2@T3": 99.6, "unconfounded": 50.1},
    "cumulative": {"T1": 100.0, "T2": 100.0, "T3": 100.0, "T1@T3": 100.0, "T2@T3": 99.9, "unconfounded": 49.9},
}


def method_of(ends, method="naive", **options):
    return score_tasks(study(ends, **options)).methods[method]


@pytest.mark.parametrize("method", TABLE_1)
def test_figure_six_gives_the_papers_table_one(method):
    record = score_tasks(study(figure_6_ends(), seeds=(1,))).methods[method]
    found = {**record.current, **record.old, "unconfounded": record.unconfounded}
    assert {name: value.mean * 100 for name, value in found.items()} == pytest.approx(TABLE_1[method], abs=0.0501)


def test_positives_and_negatives_stay_apart():
    matrix = score_tasks(study(figure_6_ends(), seeds=(1,))).methods["naive"].matrix
    assert matrix["T2"]["unconfounded"].positive.mean == pytest.approx(0.9712)
    assert matrix["T2"]["unconfounded"].negative.mean == pytest.approx(0.0496)
    assert matrix["T2"]["unconfounded"].mean.mean == pytest.approx((0.9712 + 0.0496) / 2)
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
    card = score_tasks(made)
    frame = made.frame
    last = frame[frame["epoch"] == frame.groupby(["method", "seed", "phase"])["epoch"].transform("max")]
    task = last.assign(what=last["split"].str.rpartition("_")[0])
    per_seed = task.groupby(["method", "seed", "phase", "what"])["acc"].mean()
    for (method, phase, what), values in per_seed.groupby(level=["method", "phase", "what"]):
        estimate = card.methods[method].matrix[phase][what].mean
        low, high = stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
        assert estimate.mean == pytest.approx(values.mean())
        assert estimate.sd == pytest.approx(values.std(ddof=1))
        assert estimate.ci95 == pytest.approx([low, high])


def test_forgetting_by_hand():
    ends = {
        "T1": both(T1=0.9, T2=0.5, T3=0.5, unconfounded=0.5),
        "T2": both(T1=0.95, T2=0.8, T3=0.5, unconfounded=0.5),
        "T3": both(T1=0.6, T2=0.7, T3=0.9, unconfounded=0.5),
    }
    record = method_of({"naive": ends}, seeds=(1,))
    assert record.forgetting["T1"].mean == pytest.approx(0.35)  # best of .9 and .95 before T3
    assert record.forgetting["T2"].mean == pytest.approx(0.1)
    assert record.continual.forgetting.mean == pytest.approx(0.225)
    assert record.continual.BWT.mean == pytest.approx(((0.6 - 0.9) + (0.7 - 0.8)) / 2)
    assert record.continual.average_accuracy.mean == pytest.approx((0.6 + 0.7 + 0.9) / 3)


def test_training_minus_test_is_the_gap():
    ends = {
        "T1": both(T1=0.9, T2=0.5, unconfounded=0.5) | {"T1_train": 1.0, "T2_train": 0.5},
        "T2": both(T1=0.8, T2=0.7, unconfounded=0.5) | {"T1_train": 0.96, "T2_train": 0.98},
    }
    record = method_of({"cumulative": ends}, "cumulative", seeds=(1,))
    gaps = {name: estimate.mean for name, estimate in record.generalisation_gap.items()}
    assert gaps == pytest.approx({"T1": 0.1, "T2": 0.28, "end": (0.16 + 0.28) / 2})


def test_joint_has_one_phase_and_no_old_tasks():
    record = score_tasks(study(three_tasks())).methods["joint"]
    assert record.at_once is True
    assert (record.old, record.forgetting, record.continual) == ({}, None, None)
    assert list(record.matrix) == ["T3"]
    assert record.current["T1"].mean == pytest.approx(0.98)  # at the end of its only phase
    assert record.facets["T2"].SFR_rel.mean == pytest.approx((0.98 - 0.94) - (0.98 - 0.30))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_number_of_tasks(count):
    tasks = [f"T{number}" for number in range(1, count + 1)]
    phases = {
        phase: both(**{task: 1.0 if task == phase else 0.5 for task in tasks}, unconfounded=0.55) for phase in tasks
    }
    card = score_tasks(study({"naive": phases, "scratch": phases}))
    assert card.tasks == tuple(tasks)
    record = card.methods["naive"]
    assert list(record.old) == [f"{task}@{tasks[-1]}" for task in tasks[:-1]]
    assert record.unconfounded.mean == pytest.approx(0.55)
    assert record.at_once is False
    json.dumps(card.to_json(), allow_nan=False)


def test_the_end_of_a_phase_is_its_last_epoch_and_a_split_that_lacks_it_is_not_replaced():
    curves = [curve("T1_positive", 0.7, 0.8), curve("T1_negative", 0.9), curve("unconfounded_positive", 0.5, 0.6)]
    card = score_tasks(Timeline(pd.concat(curves)))
    record = card.methods["naive"]
    assert record.matrix["T1"]["T1"].positive.mean == 0.8
    assert record.matrix["T1"]["T1"].negative.mean is None
    assert record.current["T1"].mean is None
    assert record.verdict.name == "undecided"


def test_a_seed_without_baseline_is_said_and_left_out():
    made = study(three_tasks()).frame
    kept = made[(made["method"] != "scratch") | (made["seed"] != 2)].reset_index(drop=True)
    card = score_tasks(Timeline(pd.DataFrame(kept)))
    assert card.methods["naive"].facets["T2"].PD.n == 2
    assert card.methods["naive"].facets["T2"].delta.n == 3
    assert any(
        "no scratch run for seed 2 of naive: excluded from paired facets" in warning for warning in card.warnings
    )


def test_a_timeline_of_another_kind_is_refused():
    with pytest.raises(InputError, match="no confounded tasks in the timeline"):
        score_tasks(Timeline(curve("T2_shortcut_normal", 0.5, method="sgd", phase="T2")))


def test_a_baseline_by_name_must_be_there_in_whatever_case():
    timeline = study(three_tasks())
    with pytest.raises(InputError, match="no baseline 'scrath' in the timeline: did you mean 'scratch'"):
        score_tasks(timeline, ConfoundingSettings(baseline="scrath"))
    assert score_tasks(timeline, ConfoundingSettings(baseline="NAIVE")).baseline == "naive"


def test_runs_that_failed_come_first_among_the_warnings():
    plain = study({"naive": {"T1": both(T1=0.9), "T2": both(T2=0.9)}})
    card = score_tasks(plain, failures=["er seed 1 failed"])
    assert card.warnings[0] == "er seed 1 failed"
    assert len(card.warnings) == 3  # no baseline, no unconfounded accuracy
