"""Studies side by side: the numbers are those of the cards, the intervals those of another program."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from .studies import write_study


def per_seed(study, method, facet):
    card = json.loads((study / "score.json").read_text())
    values = {int(seed): record[facet] for seed, record in card["methods"][method]["per_seed"].items()}
    return {seed: value for seed, value in values.items() if value is not None}


@pytest.fixture
def studies(tmp_path):
    return {
        "a": write_study(tmp_path / "a", seeds=(1, 2, 3, 4), cue={"size": 4}),
        "b": write_study(tmp_path / "b", seeds=(2, 3, 4, 5), shift=0.1, cue={"size": 6}),
        "c": write_study(tmp_path / "c", seeds=(7, 8, 9), shift=-0.05),
        "d": write_study(tmp_path / "d", methods=("scratch_t2", "derpp"), seeds=(1,)),
    }


def cells(told, method):
    (row,) = [row for row in told["rows"] if row["method"] == method]
    return row["facets"]


@pytest.mark.parametrize("facet", ["PD", "SFR_rel", "SC_patch", "NSC"])
def test_means_and_intervals_are_those_of_scipy(studies, serve, tmp_path, facet):
    told = serve(tmp_path).json("api/compare?study=0/a&study=0/b&study=0/c&study=0/d")
    first, paired, welch, absent = cells(told, "sgd")[facet]
    a, b, c = (per_seed(studies[name], "sgd", facet) for name in "abc")
    assert first["mean"] == pytest.approx(np.mean(list(a.values())), abs=1e-12)
    assert first["sd"] == pytest.approx(np.std(list(a.values()), ddof=1), abs=1e-12)
    assert "difference" not in first

    test = stats.ttest_rel([b[s] for s in (2, 3, 4)], [a[s] for s in (2, 3, 4)]).confidence_interval()
    assert paired["difference"]["interval"] == "paired t"
    assert paired["difference"]["n"] == [3, 3]
    assert paired["difference"]["ci95"] == pytest.approx([test.low, test.high], abs=1e-9)

    test = stats.ttest_ind(list(c.values()), list(a.values()), equal_var=False).confidence_interval()
    assert welch["difference"]["interval"] == "Welch's t"
    assert welch["difference"]["value"] == pytest.approx(np.mean(list(c.values())) - np.mean(list(a.values())))
    assert welch["difference"]["ci95"] == pytest.approx([test.low, test.high], abs=1e-9)
    assert (absent["mean"], absent["n"]) == (None, 0)


def test_the_card_s_own_means_are_shown(studies, serve, tmp_path):
    told = serve(tmp_path).json("api/compare?study=0/a&study=0/b")
    card = json.loads((studies["b"] / "score.json").read_text())
    for method, record in card["methods"].items():
        for facet in ("AD", "PD", "SFR_rel", "delta", "SC_mask", "T1"):
            cell = cells(told, method)[facet][1]
            if record[facet]["mean"] is not None:
                assert cell["mean"] == pytest.approx(record[facet]["mean"], abs=1e-12)
                assert cell["n"] == record[facet]["n"]


def test_what_differs_is_said_and_the_first_facets_are_the_diagnosis_own(studies, serve, tmp_path):
    told = serve(tmp_path).json("api/compare?study=0/a&study=0/b")
    settings = {row["name"]: row["values"] for row in told["settings"]}
    assert settings["cue.size"] == ["4", "6"]
    assert "name" not in settings
    assert {"AD", "PD", "SFR_rel", "delta"} <= set(told["shown"])
    assert "paired t interval" in told["note"]
    assert "not corrected" in told["note"]


def test_other_conditions_are_said(studies, serve, tmp_path):
    write_study(tmp_path / "e", seeds=(1, 2), score={"tau": 0.5})
    told = serve(tmp_path).json("api/compare?study=0/a&study=0/e")
    assert {row["name"] for row in told["conditions"]} >= {"threshold τ", "seeds"}


def test_one_seed_has_no_interval(studies, serve, tmp_path):
    told = serve(tmp_path).json("api/compare?study=0/a&study=0/d")
    difference = cells(told, "scratch_t2")["NSC"][1]["difference"]
    assert (difference["ci95"], difference["interval"]) == (None, "too few seeds: no interval")


def test_a_study_without_a_verdict_is_named(studies, serve, tmp_path):
    empty = write_study(tmp_path / "empty", seeds=(1,), scored=False)
    for run in (empty / "runs").iterdir():
        for file in run.iterdir():
            file.unlink()
    answer, content = serve(tmp_path).get("api/compare?study=0/a&study=0/empty")
    assert answer.status == 422
    assert "empty: nothing is measured yet" in json.loads(content)["error"]
