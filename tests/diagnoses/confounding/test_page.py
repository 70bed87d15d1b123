"""The page of a study: complete, self-contained, honest about what is missing."""

from __future__ import annotations

import json

import pytest

from einstellung.diagnoses.confounding.page import GLOSSARY, conditions
from einstellung.diagnoses.confounding.score import score_tasks
from einstellung.diagnoses.confounding.study import TaskDescription
from einstellung.diagnoses.confounding.verdict import VERDICTS
from einstellung.hashes import unsealed
from einstellung.timeline import Timeline
from tests.report.html_reader import HtmlReader

from .confounded import both, card_of, study, three_tasks
from .conftest import PROOF, write_page, write_samples


def test_the_page_loads_nothing_and_its_links_lead_somewhere(written):
    reader = HtmlReader(written.html)
    assert reader.open == []
    assert all(address.startswith("data:") for address in reader.loads)
    assert {link[1:] for link in reader.links} <= set(reader.ids)
    assert "<h1>A &amp; B &lt;strict&gt;</h1>" in written.html
    assert "&lt;strict&gt;\n" in written.html  # in the configuration
    assert "<strict>" not in written.html


def test_the_page_answers_first_and_says_what_it_rests_on(written):
    text = HtmlReader(written.html).text
    answer = "naive and cumulative are insidiously confounded: 50.0 to 72.0 % on unconfounded images, while joint training on"
    assert text.index(answer) < text.index("Verdicts")
    for words in (
        "Reference: each method's own tasks right after learning them",
        "A method is confounded if it is more than 10.0 points below that reference",
        "At the end, removing 'blue' from positives of T1: 98.0 % → 20.0 % right",
        "T1 'blue', T2 'metal', T3 'large'",
        "The protocols differ: stream.size 64 (paper: 224).",
        "every scene satisfies the rule of its task and label",
        "T2_negative_twin the same scenes with the confounder added 600 images all 4",
        "baseline: retrained in every phase",
        "command einstellung run",
    ):
        assert words in text, words


def test_everything_lies_next_to_the_page(written):
    assert unsealed(json.loads((written.folder / "score.json").read_text())) == written.card.to_json()
    names = {"table1", "table4", "verdicts", "order", "facets", "forgetting", "matrices", "seeds"}
    assert {path.name for path in (written.folder / "tables").iterdir()} == {
        f"{name}.{kind}" for name in names for kind in ("md", "tex", "csv")
    }
    figures = {"unconfounded", "matrices", "learning", "twins", "samples"}
    assert {path.stem for path in (written.folder / "figures").iterdir()} == figures
    assert not list(written.folder.rglob("*.writing*"))


def test_equal_input_gives_equal_bytes(written, tmp_path, quick):
    pages = [write_page(tmp_path / name, written.timeline, written.card) for name in "ab"]
    assert pages[0] == pages[1]


def test_a_task_whose_positives_have_no_twin_is_reported_without_them(tmp_path, svg_only):
    frame = study(three_tasks(), spread=0.01).frame
    lost = ("T1_positive_paired", "T1_positive_twin")
    timeline = Timeline(frame[~frame["split"].isin(lost)].reset_index(drop=True))
    write_samples(tmp_path / "samples.npz", without=lost)
    card = card_of(timeline)
    twins = card.methods["naive"].twins["T1"].end
    assert twins.positive_twin.mean is None
    assert twins.negative_twin.mean is not None
    assert "positives of T1" not in card.methods["naive"].verdict.sentence
    assert "insidiously confounded" in write_page(tmp_path, timeline, card, proof=PROOF)


@pytest.mark.parametrize("count", [1, 5])
def test_any_number_of_tasks_without_twins_makes_a_page(tmp_path, svg_only, count):
    tasks = [f"T{number}" for number in range(1, count + 1)]
    phases = {phase: both(**dict.fromkeys(tasks, 0.9), unconfounded=0.85) for phase in tasks}
    timeline = study({"naive": phases}, seeds=(1,), epochs=1)
    text = HtmlReader(write_page(tmp_path, timeline, score_tasks(timeline))).text
    assert "Not drawn: The same scenes with the confounder changed (no twins were measured)." in text
    assert "Not drawn: Test images and their twins (these results have no stored sample images)." in text
    assert "A single seed." in text
    assert "Wilson interval over images of a single seed" in text


@pytest.mark.parametrize("gone", ["unconfounded_", "T2_negative"])
def test_what_was_not_measured_is_undecided(tmp_path, quick, gone):
    frame = study(three_tasks()).frame
    timeline = Timeline(frame[~frame["split"].str.startswith(gone)].reset_index(drop=True))
    card = score_tasks(timeline)
    assert {record.verdict.name for record in card.methods.values()} == {"undecided"}
    html = write_page(tmp_path, timeline, card)
    assert "1 check failed: read this before the numbers." in HtmlReader(html).text


def test_conditions_name_what_is_known():
    known = conditions(card_of(study(three_tasks())))
    assert known["confounders"] == "T1 'blue', T2 'metal', T3 'large'"
    assert (known["ceiling"], known["baseline of the facets"]) == ("none: own tasks instead", "scratch")
    alone = score_tasks(
        study({"naive": {"T1": both(T1=0.9, unconfounded=0.9)}}), study=TaskDescription("unconfounded", "NN")
    )
    sanity = conditions(alone)
    assert sanity["the paper's sanity check"] == "97.0 ± 0.44 per cent (its section 4.1)"
    assert (sanity["confounders"], sanity["baseline of the facets"]) == ("none, or not recorded", "none")


def test_every_verdict_is_explained():
    assert [name for name, _, _ in GLOSSARY] == list(VERDICTS)
