"""The answer in words, and what the terminal shows."""

from __future__ import annotations

from rich.console import Console

from einstellung.diagnoses.confounding.answer import answer, overview
from einstellung.diagnoses.confounding.card import Perception
from einstellung.diagnoses.confounding.score import score_tasks
from einstellung.diagnoses.confounding.study import TaskDescription
from einstellung.report.terminal import print_overview

from .confounded import both, study, three_tasks


def test_the_terminal_has_a_row_and_a_sentence_per_method(card):
    shown = overview(card)
    assert shown.table.head == ("method", "T1", "T2", "T3", "T1@T3", "T2@T3", "unconf.", "verdict")
    row = next(row for row in shown.table.rows if row[0].text == "joint")
    assert [cell.text for cell in row] == ["joint", "98.0", "99.0", "99.0", "–", "–", "95.0", "not confounded"]
    console = Console(record=True, width=80, force_terminal=False)
    with console.capture() as captured:
        print_overview(console, shown, card.checks, card.warnings)
    text = captured.get()
    assert "T1, ...: right after it was learned; T1@T3: at the end." in " ".join(text.split())
    assert "Reference: each method's own tasks" in text
    assert "\nnaive: Insidiously confounded: 50.0 %" in text


def test_the_answer_names_what_is_not_judged():
    ends = three_tasks()
    ends["gdumb"] = {phase: dict(splits) | both(T1=0.6, T2=0.6, T3=0.6) for phase, splits in ends["naive"].items()}
    card = score_tasks(study(ends), study=TaskDescription(variant="strict", model="NeSy"))
    first, second = answer(card)
    assert first.startswith("Variant strict. NeSy: a set transformer on object attributes.")
    assert "gdumb did not learn the tasks, so nothing can be concluded." in first
    assert "Methods with a task below 75.0 % get no verdict." in second


def test_the_answer_says_how_well_slots_were_read():
    described = TaskDescription(
        variant="strict",
        model="NeSy",
        input_modality="slots",
        perceived=Perception(whole_scenes=0.25, ground_truth=0.8),
    )
    first, _ = answer(score_tasks(study(three_tasks()), study=described))
    assert "NeSy: a set transformer on objects extracted from pixels by slot attention (25.0 % of the" in first
    assert (
        "unconfounded test scenes read without error; the extracted objects give the right label for 80.0 %)." in first
    )


def test_a_sanity_check_is_no_verdict():
    ends = {"naive": {"T1": both(T1=0.96, unconfounded=0.96)}}
    first, second = answer(score_tasks(study(ends), study=TaskDescription(variant="unconfounded", model="NN")))
    assert "Trained on unconfounded images, naive is at 96.0 % on such images." in first
    assert second.startswith("Sanity check: ")
