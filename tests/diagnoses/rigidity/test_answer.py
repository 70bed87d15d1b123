"""The answer in words is decided by the scorecard and nothing else."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from einstellung.diagnoses.rigidity.answer import answer, overview
from einstellung.report.terminal import print_overview

from .hand_made import scorecard, seed, typed


@pytest.mark.parametrize(
    ("pattern", "certainty", "expected"),
    [
        (
            "red-flag",
            "holds",
            "ewc_on is faster than scratch_t2, no worse with the cue present, and more reliant on",
        ),
        ("red-flag", "leans", "Not conclusive: on average, ewc_on is faster than scratch_t2"),
        ("red-flag", "too few seeds", "Too few seeds to tell: on average, ewc_on is faster than scratch_t2"),
        ("shared-shortcut", "holds", "as reliant on the cue as scratch_t2"),
        ("benign-avoidance", "holds", "worse with the cue present and barely reliant on it"),
        ("benign-transfer", "holds", "ewc_on is barely reliant on the cue, and no more so than scratch_t2"),
        ("cue-harmful", "holds", "compared with a baseline that the cue does not help"),
        ("saturated", "holds", "ewc_on is at the floor without the cue, as is scratch_t2"),
        ("saturated", "leans", "Not conclusive: on average, ewc_on is at the floor without the cue"),
    ],
)
def test_each_pattern_has_its_sentence(card, pattern, certainty, expected):
    card["methods"]["ewc_on"] |= {"pattern": pattern, "certainty": certainty}
    first = answer(typed(card))[0]
    assert expected in first
    assert f"({pattern})" in first
    assert ("on average" in first) == (certainty != "holds")
    assert ("Not conclusive" in first) == (certainty == "leans")
    assert "gpm is undecided on these data (ambiguous)." in first


def test_absolute_reliance_is_decided_by_the_interval(card):
    # ewc_on: Δ .40 .41 .39; gpm: .15 .16 .14; scratch_t2: .20 .19 .18: all intervals lie above 0.
    assert (
        "Covering the cue reduces accuracy for scratch_t2 (Δ +0.190, 95 % [+0.165, +0.215])" in answer(typed(card))[1]
    )
    card["methods"]["gpm"]["delta"]["ci95"] = [-0.01, 0.3]
    card["methods"]["ewc_on"]["delta"] |= {"mean": -0.4, "ci95": [-0.5, -0.3]}
    second = answer(typed(card))[1]
    assert "Covering the cue improves accuracy for ewc_on (Δ −0.400, 95 % [−0.500, −0.300])." in second
    assert "No clear effect of covering the cue (the interval contains 0) for gpm" in second


def test_without_a_baseline_nothing_relative_is_said(card):
    del card["methods"]["scratch_t2"]
    assert answer(typed(card))[0].startswith("This timeline has no baseline")


def test_without_a_continual_learner_there_is_nothing_to_compare():
    lonely = scorecard({"scratch_t2": {"1": seed(8, 0.6, 0.4)}})
    assert answer(typed(lonely))[0].startswith("This timeline has no continual learner")
    assert "too few seeds for an interval" in answer(typed(lonely))[1]


def test_unmeasured_reliance_is_said():
    blind = scorecard({"scratch_t2": {"1": seed(8, 0.6, None)}, "sgd": {"1": seed(8, 0.6, None)}})
    assert answer(typed(blind))[1].startswith("Absolute reliance on the cue is unknown")


def test_many_models_are_summed_up():
    runs = {"scratch_t2": {"1": seed(8, 0.6, 0.5)}}
    runs |= {f"m{number}": {"1": seed(4, 0.7, 0.7 - number / 10)} for number in range(1, 7)}
    second = answer(typed(scorecard(runs)))[1]
    assert "7 models, ranging from" in second
    assert "m6 (Δ +0.600)" in second
    assert "m3" not in second


def test_what_sets_the_cues_classes_apart_is_part_of_the_answer(card):
    assert len(answer(typed(card))) == 2
    found = {"method": "ewc_on", "value": -0.2, "ci95": [-0.3, -0.1], "n": 3}
    card["besides"] = [
        found | {"kind": "specific", "text": "compared with scratch_t2, ewc_on keeps the cue's classes"},
        found | {"kind": "pull", "text": "put on others, the cue pulls"},
    ]
    assert answer(typed(card))[2:] == ["Compared with scratch_t2, ewc_on keeps the cue's classes."]
    text = printed(card)
    assert "also: compared with scratch_t2, ewc_on keeps the cue's classes" in text
    assert "also: put on others, the cue pulls" in text


def test_models_that_learned_nothing_are_part_of_the_answer(card):
    others = [method for method in card["methods"] if method != "scratch_t2"]
    assert "has learned" not in answer(typed(card))[0]
    card["methods"]["ewc_on"]["unlearned"] = True
    assert (
        "Neither scratch_t2 nor ewc_on has learned the shortcut classes, even with the cue, so"
        in answer(typed(card))[0]
    )
    for method in others:
        card["methods"][method]["unlearned"] = True
    assert "No model has learned the shortcut classes, even with the cue, so" in answer(typed(card))[0]


def printed(values, **options):
    """The overview of plain values on a terminal, as every verb prints it."""
    stream = io.StringIO()
    card = typed(values).baseline_first()
    print_overview(Console(file=stream, **options), overview(card), card.checks, card.warnings)
    return stream.getvalue()


def test_a_pipe_gets_plain_text_in_120_columns(card):
    text = printed(card)
    assert "\x1b" not in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 120
    row = next(line for line in text.splitlines() if line.startswith("ewc_on"))
    expected = "ewc_on −5.0 −0.120 +0.210 +0.400 +0.190 0.720 0.320 0.760 0.110 red-flag too few seeds"
    assert row.split() == expected.split()
    below = text.splitlines()[text.splitlines().index(row) + 1]
    assert below.split()[:3] == ["±1.41", "±0.020", "±0.010"]
    assert "n 2/3" in text


def test_the_baseline_has_dashes_and_its_own_label(card):
    row = next(line for line in printed(card).splitlines() if line.startswith("scratch_t2"))
    assert row.split()[1:4] == ["–", "–", "–"]
    assert "baseline" in row


def test_the_baseline_stands_first(card):
    card["methods"] = dict(reversed(card["methods"].items()))
    rows = [line.split()[0] for line in printed(card).splitlines()[3:] if line and not line.startswith(" ")][:3]
    assert rows == ["scratch_t2", "gpm", "ewc_on"]


def test_verdicts_probes_warnings_and_failures_follow(card):
    card["methods"]["gpm"]["next_probe"] = "lower tau"
    card["methods"]["ewc_on"] |= {
        "high_rigidity": True,
        "high_rigidity_certainty": "leans",
        "error_rate": "Rarely false.",
    }
    card["warnings"] = ["odd [seed]"]
    card["checks"] = [
        {"name": "seeds match", "passed": False, "detail": "seed 3 is alone"},
        {"name": "fine", "passed": True, "detail": "yes"},
    ]
    text = printed(card)
    for words in (
        "ewc_on: red-flag (shortcut-induced rigidity), too few seeds",
        "Ambiguous: what gpm does.",
        "next probe: lower tau",
        "high-rigidity flag set (leans)",
        "Rarely false.",
        "FAILED CHECK seeds match: seed 3 is alone",
        "warning odd [seed]",
    ):
        assert words in text
    assert "fine" not in text


@pytest.mark.parametrize(("certainty", "red"), [("holds", True), ("leans", False), ("too few seeds", False)])
def test_only_what_is_certain_is_printed_in_red(card, certainty, red):
    card["methods"]["ewc_on"] |= {"pattern": "red-flag", "certainty": certainty}
    card["methods"]["ewc_on"] |= {"high_rigidity": True, "high_rigidity_certainty": certainty}
    shown = overview(typed(card))
    row = next(row for row in shown.table.rows if row[0].text == "ewc_on")
    assert row[-2].text == "red-flag"
    tones = {row[-2].tone, *(paragraph.tone for paragraph in shown.paragraphs)}
    assert ("bad" in tones) is red
    text = printed(card, force_terminal=True, color_system="standard", width=120)
    assert ("\x1b[1;31m" in text) is red


def test_a_narrow_terminal_gets_two_tables(card):
    text = printed(card, width=80, force_terminal=True, color_system=None)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert len([line for line in text.splitlines() if line.startswith("ewc_on ")]) == 2
    assert "…" not in text


def test_delta_and_the_baselines_rest_on_the_same_seeds(card):
    paired = {"mean": 0.405, "sd": 0.007, "n": 2, "ci95": None, "interval": "none"}
    card["methods"]["ewc_on"]["delta_paired"] = paired
    text = printed(card)
    row = next(line for line in text.splitlines() if line.startswith("ewc_on"))
    assert row.split()[4] == "+0.405"
    third = text.splitlines()[text.splitlines().index(row) + 2]
    assert third.split() == ["n", "2/3", "n", "2/3"]  # of AD and of delta
