"""What a page gets to score with: plain values for strict JSON, and one script."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pandas as pd
import pytest

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.rigidity.browser_data import SCRIPTS, payload, script
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.timeline import SC_PATCH, VAL, Timeline

from .hand_made import timeline_frame


def of(frame: pd.DataFrame, **settings):
    evidence = Evidence(Timeline(frame))
    return payload(evidence, Rigidity().score(evidence, RigiditySettings(**settings)))


def test_it_is_strict_json_and_small(written):
    found = payload(written.evidence, written.card)
    text = json.dumps(found, allow_nan=False)
    assert json.loads(text) == json.loads(json.dumps(found))
    assert found["card"] == written.card.to_json()
    assert len(text) < 2 * len(json.dumps(found["card"])) + 30_000


def test_a_run_has_its_patched_curve_and_both_checkpoints():
    frame = timeline_frame()
    best = frame[frame["split"] == SC_PATCH].assign(split=VAL)
    best.loc[best["epoch"] == 4, "acc"] = 0.99
    run = of(pd.concat([frame, best]))["runs"][0]
    assert (run["method"], run["seed"]) == ("scratch_t2", "42")
    own = frame[(frame["method"] == "scratch_t2") & (frame["seed"] == 42) & (frame["split"] == SC_PATCH)]
    assert run["curve"] == [own["epoch"].tolist(), own["acc"].tolist()]
    assert [run["final"][rule]["epoch"] for rule in ("last", "best-val")] == [8.0, 4.0]
    assert run["final"]["best-val"]["acc"][0] == own["acc"].tolist()[4]
    assert run["final"]["last"]["acc_within"] == [None, None, None]


def test_seeds_are_text_because_they_may_be_larger_than_javascript_counts():
    frame = timeline_frame()
    frame["seed"] += 2**60
    assert of(frame)["seeds"] == [str(2**60 + seed) for seed in (42, 43, 44)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"baseline": None, "final": "auto", "classes": None}),
        (
            {"final": "last", "classes": 60},
            {"baseline": None, "final": "auto", "classes": 60},
        ),  # there is no other rule
        ({"baseline": "SGD"}, {"baseline": "sgd", "final": "auto"}),
        ({"tau": 0.5, "margins": "2,0.1,0.2"}, {"tau": 0.5, "margins": {"AD": 2.0, "PD": 0.1, "SFR_rel": 0.2}}),
    ],
)
def test_settings_are_what_was_asked_for(settings, expected):
    found = of(timeline_frame(), **settings)["settings"]
    assert {key: found[key] for key in expected} == expected


def test_a_rule_that_was_named_is_told_from_auto():
    frame = timeline_frame()
    validated = frame[(frame["split"] == SC_PATCH) & (frame["method"] != "derpp")].assign(split=VAL)
    some = pd.concat([frame, validated])
    assert of(some)["settings"]["final"] == "auto"
    assert of(some, final="last")["settings"]["final"] == "last"
    everywhere = pd.concat([frame, frame[frame["split"] == SC_PATCH].assign(split=VAL)])
    assert of(everywhere, final="last")["settings"]["final"] == "last"


def test_failed_runs_are_told_apart_from_the_log_s_warnings():
    evidence = replace(Evidence(Timeline(timeline_frame())), failures=("sgd seed 45 failed",))
    found = payload(evidence, Rigidity().score(evidence, RigiditySettings()))
    assert found["failures"] == ["sgd seed 45 failed"] == found["card"]["warnings"][:1]


def test_the_script_is_short_and_can_stand_in_a_page():
    assert {file.name for file in SCRIPTS} >= {"scorer.js", "statistics.js"}
    text = script()
    assert len(text.encode()) <= 54_000
    assert "</" not in text
    assert "<!--" not in text
    assert text.startswith('(()=>{"use strict";')
    assert re.search(r"\bimport\b|\bexport\b|\beval\b|require\(|fetch\(", text) is None
