"""The report of a results folder: its runs' own files are read, and what is wrong with them is said."""

from __future__ import annotations

import json
import shutil

import pytest

from einstellung.cli.output import show_family
from einstellung.diagnoses import reporting
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import report_study, report_sweep
from einstellung.diagnoses.rigidity import published
from einstellung.diagnoses.rigidity.besides import besides
from einstellung.diagnoses.rigidity.card import PrintedNumber, StreamFacts
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.error_rates import with_error_rates
from einstellung.diagnoses.rigidity.figures import catalogue
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.errors import InputError
from einstellung.files import write_json
from einstellung.report.figures import plan
from einstellung.report.tables import Cell, Table
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder
from einstellung.results.sweep import Sweep, write_sweep
from einstellung.timeline import Timeline

from .hand_made import CURVES, prediction_frame, timeline_frame, write_pictures

CONFIG = {"name": "by hand", "diagnosis": "rigidity", "methods": ["scratch_t2", "sgd"], "seeds": [1, 2, 10]}
RUNS = [(method, number) for method in ("scratch_t2", "sgd") for number in (1, 2, 10)]


@pytest.fixture
def results(tmp_path):
    """Two methods with three seeds; sgd seed 1 left pictures."""
    folder = ResultsFolder(tmp_path / "results")
    folder.write_config(build_config(CONFIG))
    curves = {method: CURVES[method] for method in ("scratch_t2", "sgd")}
    frame = timeline_frame(curves, seeds=(1, 2, 10), epochs=2)
    for method, number in RUNS:
        run = folder.path / "runs" / f"{method}-seed{number}"
        write_json(run / "status.json", {"state": "finished"})
        Timeline(frame[(frame["method"] == method) & (frame["seed"] == number)]).write(run / "timeline.csv")
        prediction_frame().to_csv(run / "predictions.csv", index=False)
    write_pictures(folder.path / "runs" / "sgd-seed1" / "pictures.npz")
    return folder


@pytest.fixture
def quick(monkeypatch):
    """Figures are not what is looked at here."""
    monkeypatch.setattr(plan, "save", lambda figure, folder, name: {"svg": b"<svg/>"})
    monkeypatch.setattr(catalogue, "_drawings", lambda *inputs: {})


def reported_by(folder):
    done = report_study(folder)
    return done.scored.card, done.page


def test_single_images_enter_card_files_and_page(results, quick):
    card, page = reported_by(results)
    assert list(card.per_image.masking["sgd"]) == [1, 2, 10]
    assert card.per_image.masking["sgd"][10].only_patched == 3
    stored = json.loads((results.path / "score.json").read_text())
    assert stored["per_image"] == card.per_image.model_dump(mode="json")
    assert (results.path / "tables" / "mcnemar.csv").read_text().count("\n") == 1 + len(RUNS)
    html = page.read_text()
    assert "Masked against patched, per image" in html
    assert "Images generated or stored by sgd, seed 1" in html
    assert card.reported is None
    assert 'id="reported"' not in html
    assert card.checks[-2].name == "paired predictions are of the same images"
    assert card.checks[-2].passed is True


def test_predictions_that_are_missing_or_no_pairs_are_said_and_left_out(results, quick):
    (results.path / "runs/sgd-seed1/predictions.csv").unlink()
    other = prediction_frame()
    masked = other["split"] == "T2_shortcut_masked"
    other.loc[masked, "index"] += 1
    other.to_csv(results.path / "runs/sgd-seed2/predictions.csv", index=False)
    card, page = reported_by(results)
    assert card.warnings == ("runs/sgd-seed1/predictions.csv is missing; tests on single images leave sgd seed 1 out",)
    assert list(card.per_image.masking["sgd"]) == [10]
    own = card.per_image.cue_effect["sgd"].per_seed
    assert (own[2].SC_mask, own[2].SC_clean) == (None, 0.5)
    check = next(check for check in card.checks if check.name == "paired predictions are of the same images")
    assert check.passed is False
    assert "sgd seed 2: T2_shortcut_normal and T2_shortcut_masked do not contain the same images" in check.detail
    html = page.read_text()
    assert "read this before the numbers" in html
    assert "runs/sgd-seed1/predictions.csv is missing" in html


def test_without_any_predictions_there_is_still_a_report(results, quick):
    for method, number in RUNS:
        (results.path / f"runs/{method}-seed{number}/predictions.csv").unlink()
    card, page = reported_by(results)
    assert card.per_image is None
    (warning,) = card.warnings  # one for all runs
    assert warning.endswith(f"(in {len(RUNS)} runs)")
    assert "these results have no stored per-image predictions" in page.read_text()


def test_the_papers_numbers_stand_there_for_its_protocol_only(results, quick, monkeypatch):
    seen = []
    monkeypatch.setattr(published, "protocol_differences", lambda config: seen.append(config) or [])
    card, page = reported_by(results)
    assert seen[0].training.epochs == (50, 50)
    assert card.reported.methods["sgd"]["PD"] == PrintedNumber(mean=0.028, sd=0.02)
    assert 'id="reported"' in page.read_text()


def test_runs_that_failed_and_what_the_stream_proved_enter_the_card(results, quick):
    write_json(results.path / "runs/derpp-seed1/status.json", {"state": "failed", "reason": "out of memory"})
    facts = {"chance": 1 / 36, "chance_task": 1 / 12, "cue_alone": None, "training_images": {"T1": 9, "T2": 9}}
    write_json(results.proof_file, {"stream": "shapes", "facts": facts, "checks": []})
    card, _ = reported_by(results)
    assert card.warnings[0] == "derpp-seed1 failed: out of memory"
    assert card.stream_facts == StreamFacts(chance=1 / 36, chance_task=1 / 12, phases=("T1", "T2"))


def test_a_log_of_somebody_else_is_scored_by_its_timeline_alone():
    timeline = Timeline(timeline_frame())
    whole = Rigidity().score(Evidence(timeline), RigiditySettings())
    scored = score(timeline)
    assert whole == with_error_rates(scored.model_copy(update={"besides": besides(scored)}))
    assert whole.floor == Floor.of(None)


def test_the_proof_tells_the_floor_and_a_setting_overrides_it():
    evidence = Evidence(Timeline(timeline_frame()), {"facts": {"chance": 1 / 36, "chance_task": 1 / 12}})
    assert Rigidity().score(evidence, RigiditySettings()).floor == Floor.of(36)
    assert Rigidity().score(evidence, RigiditySettings(classes=200)).floor == Floor.of(200)


@pytest.mark.parametrize(
    ("facts", "outputs", "t1_classes"),
    [
        ({"chance": 1 / 60, "chance_task": 1 / 20, "phases": ("T1", "T2")}, 60, 40),
        ({"chance": 1 / 60, "chance_task": 1 / 20, "phases": ("T1", "T2", "T3")}, 60, None),
        ({"chance": 1 / 60, "phases": ("T1", "T2")}, 60, None),
        ({"chance": 1 / 20, "chance_task": 1 / 20, "phases": ("T1", "T2")}, 20, None),
        ({}, None, None),
    ],
)
def test_the_proof_counts_the_classes(facts, outputs, t1_classes):
    known = StreamFacts(**facts)
    assert (known.outputs, known.t1_classes) == (outputs, t1_classes)


def test_an_option_of_another_diagnosis_is_refused_before_anything_is_scored(results):
    results.write_config(build_config(CONFIG | {"score": {"level": 0.7}}))
    with pytest.raises(InputError, match=r"score\.level is not a setting of the diagnosis 'rigidity'"):
        report_study(results)


def test_methods_stand_in_the_timelines_order(results, quick):
    results.write_config(build_config(CONFIG | {"methods": ["sgd", "scratch_t2"]}))
    assert list(reported_by(results)[0].methods) == ["scratch_t2", "sgd"]


def test_a_sweep_is_scored_from_its_studies(results, tmp_path, monkeypatch, capsys):
    """Values of an earlier sweep over the same key belong to it; a value without a finished run does not."""
    monkeypatch.setattr(plan, "save", lambda figure, folder, name: {"svg": b"<svg/>"})
    root = tmp_path / "sweep"
    write_sweep(root, Sweep("cue.size", (2, 4)))
    for size in (2, 8):
        shutil.copytree(results.path, root / f"cue.size={size}")
    write_sweep(root, Sweep("cue.size", (6, 8)))
    family = report_sweep(root)
    assert family.page == root / "sweep.html"
    show_family(family, as_json=False)
    table, _, answer = capsys.readouterr().out.partition("Mean ± standard deviation over seeds")
    assert "SFR_rel" in table
    assert f"report: {root / 'sweep.html'}" in answer
    assert family.data["key"] == "cue.size"
    assert [point["value"] for point in family.data["points"]] == [2, 8]
    assert list(family.studies) == ["cue.size=8", "cue.size=2"]
    (tmp_path / "empty").mkdir()
    write_sweep(tmp_path / "empty", Sweep("cue.size", (6, 8)))
    with pytest.raises(InputError, match="has no finished run yet"):
        report_sweep(tmp_path / "empty")


class Companion(Rigidity):
    """A second diagnosis of the same runs."""

    name = "companion"

    def tables(self, card):
        return {
            "companion_table": Table("By another measure", "", ("method",), ((Cell("sgd"),),), ({"method": "sgd"},))
        }


def test_tables_of_companions_have_a_section_of_their_own(results, quick, monkeypatch):
    kinds = {"rigidity": Rigidity, "companion": Companion}
    monkeypatch.setattr(reporting, "get_diagnosis", lambda name: kinds[name]())
    assert 'id="others"' not in reported_by(results)[1].read_text()
    results.write_config(build_config(CONFIG | {"companions": {"companion": {}}}))
    html = reported_by(results)[1].read_text()
    assert html.index('id="others"') < html.index("By another measure")
    assert (results.path / "tables" / "companion_table.csv").exists()


@pytest.mark.parametrize(
    ("splits", "known"),
    [(["T2_shortcut_normal", "mine"], True), (["T2_shortcut_masked"], True), (["T1_all", "T2_val"], False)],
)
def test_a_foreign_log_is_recognised_by_the_images_with_the_cue(splits, known):
    assert Rigidity().recognises(splits) is known


def test_splits_are_listed_in_a_readers_order():
    names = ["mine", "T2_val", "T2_group_night", "T2_shortcut_masked", "T1_all"]
    assert sorted(names, key=lambda name: Rigidity().split_order(name, None)) == [
        *("T1_all", "T2_shortcut_masked", "T2_val", "T2_group_night", "mine")
    ]
    assert Rigidity().describe_split("T2_shortcut_masked", None) == "the same images, cue covered"
    assert Rigidity().describe_split("mine", None) is None
