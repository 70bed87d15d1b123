"""The line below a verdict comes from measured rates, whatever they are."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.rigidity import error_rates
from einstellung.diagnoses.rigidity.error_rates import error_rate, measured_rates, measured_size, with_error_rates
from einstellung.diagnoses.rigidity.wording import PATTERNS

from .hand_made import scorecard, seed, typed

RATES = {
    "seeds": {
        3: {
            "false_alarms": {"red-flag": {"share": 0.01, "ci95": [0.0, 0.02], "control": "two scratch arms"}},
            "power": {"red-flag": {"share": 0.4, "ci95": [0.3, 0.5]}},
        },
        5: {
            "false_alarms": {
                "red-flag": {"share": 0.03, "ci95": [0.01, 0.06], "control": "two scratch arms"},
                "benign-transfer": {"share": 0.02, "ci95": [0.01, 0.04], "control": "a planted cue"},
            },
            "power": {"red-flag": {"share": 0.8, "ci95": [0.7, 0.9]}},
        },
    }
}


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.setattr(error_rates, "measured_rates", lambda: RATES)


def card(seeds, pattern="red-flag"):
    runs = {
        name: {str(k): seed(4, acc, 0.3) for k in range(seeds)} for name, acc in (("scratch_t2", 0.6), ("sgd", 0.7))
    }
    return typed(scorecard(runs, sgd={"pattern": pattern}))


def test_the_file_has_what_a_line_needs():
    sizes = measured_rates()["seeds"]
    assert sizes
    for size, at in sizes.items():
        assert isinstance(size, int)
        assert set(at["false_alarms"]) <= {*PATTERNS, "high-rigidity"}
        assert "red-flag" in at["false_alarms"]
        for rate in (*at["false_alarms"].values(), *at["power"].values()):
            low, high = rate["ci95"]
            assert 0 <= low <= rate["share"] <= high <= 1
        assert all(rate["control"] for rate in at["false_alarms"].values())
        assert "red-flag" in at["power"]


@pytest.mark.parametrize("pattern", list(PATTERNS))
@pytest.mark.parametrize("seeds", [1, 3, 5])
def test_every_verdict_has_one_line_from_the_file(pattern, seeds):
    line = error_rate(card(seeds, pattern).methods["sgd"])
    assert line.endswith(".")
    assert "\n" not in line


def test_a_false_alarm_is_told_with_its_interval_and_control(measured):
    line = error_rate(card(5).methods["sgd"])
    assert line.startswith(
        "False-positive rate of a conclusive red-flag with 5 seeds: 3.0 % of null studies (95 % 1.0 % to 6.0 %; "
    )
    assert line.endswith("two scratch arms).")


def test_the_next_lower_number_of_seeds_counts(measured):
    assert [measured_size(seeds) for seeds in (2, 3, 4, 5, 9)] == [None, 3, 3, 5, 5]
    assert "with 3 seeds" in error_rate(card(4).methods["sgd"])
    assert error_rate(card(2).methods["sgd"]) == (
        "Error rates were measured for 3 or more seeds, so none is available for 2."
    )


def test_a_verdict_without_a_rate_of_its_own_tells_what_would_have_been_found(measured):
    line = error_rate(card(5, "ambiguous").methods["sgd"])
    assert line == (
        "With 5 seeds, a conclusive red flag is found in 80.0 % of positive controls and, falsely, in 3.0 % of null studies."
    )
    assert error_rate(card(3, "benign-transfer").methods["sgd"]).startswith("With 3 seeds")


def test_the_baseline_has_no_line(measured):
    told = with_error_rates(card(5))
    assert told.methods["scratch_t2"].error_rate is None
    assert told.methods["sgd"].error_rate == error_rate(card(5).methods["sgd"])


def test_only_paired_seeds_count(measured):
    values = card(5).to_json()
    for number in ("3", "4"):
        values["methods"]["sgd"]["per_seed"][number]["paired"] = False
    assert "with 3 seeds" in error_rate(typed(values).methods["sgd"])
