"""The report of a results folder: its runs' own files are read, and what is wrong with them is said."""

from __future__ import annotations

import json

import pytest
from einstellung.report.study import report_study, report_sweep

from einstellung.diagnoses.rigidity.figures import catalogue
from einstellung.errors import InputError
from einstellung.files import write_json
from einstellung.report import study as study_report
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder
from einstellung.results.sweep import Sweep, write_sweep
from einstellung.timeline import Timeline

from .hand_made import CURVES, prediction_frame, scorecard, seed, timeline_frame, write_pictures

RUNS = [(method, number) for method in ("scratch_t2", "sgd") for number in (1, 2, 10)]


@pytest.fixture
def results(tmp_path):
    """Two methods with three seeds; sgd seed 1 left pictures."""
    folder = ResultsFolder(tmp_path / "results")
    folder.write_config(build_config({"name": "by hand", "methods": ["scratch_t2", "sgd"], "seeds": [1, 2, 10]}))
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
    monkeypatch.setattr(catalogue, "save", lambda figure, folder, name: {"svg": b"<svg/>"})
    monkeypatch.setattr(catalogue, "_plans", lambda *inputs: {})


def test_single_images_enter_card_files_and_page(results, quick):
    card, page = report_study(results)
    assert list(card["per_image"]["masking"]["sgd"]) == ["1", "2", "10"]
    assert card["per_image"]["masking"]["sgd"]["10"]["only_patched"] == 3
    assert json.loads((results.path / "score.json").read_text())["per_image"] == card["per_image"]
    assert (results.path / "tables" / "mcnemar.csv").read_text().count("\n") == 1 + len(RUNS)
    html = page.read_text()
    assert "Masked against patched, image by image" in html
    assert "Images that sgd, seed 1, made or kept" in html
    assert "reported" not in card
    assert 'id="reported"' not in html
    assert card["checks"][-2]["name"] == "paired predictions are of the same images"
    assert card["checks"][-2]["passed"] is True


def test_predictions_that_are_missing_or_no_pairs_are_said_and_left_out(results, quick):
    (results.path / "runs/sgd-seed1/predictions.csv").unlink()
    other = prediction_frame()
    masked = other["split"] == "T2_shortcut_masked"
    other.loc[masked, "index"] += 1
    other.to_csv(results.path / "runs/sgd-seed2/predictions.csv", index=False)
    card, page = report_study(results)
    assert card["warnings"] == [
        "runs/sgd-seed1/predictions.csv is missing; tests on single images leave sgd seed 1 out"
    ]
    assert list(card["per_image"]["masking"]["sgd"]) == ["10"]
    own = card["per_image"]["cue_effect"]["sgd"]["per_seed"]
    assert (own["2"]["SC_mask"], own["2"]["SC_clean"]) == (None, 0.5)
    check = next(check for check in card["checks"] if check["name"] == "paired predictions are of the same images")
    assert check["passed"] is False
    assert "sgd seed 2: T2_shortcut_normal and T2_shortcut_masked do not hold the same images" in check["detail"]
    html = page.read_text()
    assert "read this before the numbers" in html
    assert "runs/sgd-seed1/predictions.csv is missing" in html


def test_without_any_predictions_there_is_still_a_report(results, quick):
    for method, number in RUNS:
        (results.path / f"runs/{method}-seed{number}/predictions.csv").unlink()
    card, page = report_study(results)
    assert "per_image" not in card
    assert len(card["warnings"]) == len(RUNS)
    assert "no predictions of single images were stored with these results" in page.read_text()


def test_the_papers_numbers_stand_there_for_its_protocol_only(results, quick, monkeypatch):
    seen = []
    monkeypatch.setattr(study_report, "is_papers_protocol", lambda config: seen.append(config) or True)
    card, page = report_study(results)
    assert seen[0]["training"]["epochs"] == [50, 50]
    assert card["reported"]["methods"]["sgd"]["PD"] == {"mean": 0.028, "sd": 0.02}
    assert 'id="reported"' in page.read_text()


def test_a_sweep_is_read_from_the_scores_of_its_studies(tmp_path, monkeypatch):
    """Values of an earlier sweep over the same key belong to it; a value without a finished run does not."""
    seen = {}
    monkeypatch.setattr(study_report, "write_sweep_report", lambda *words: seen.update(words=words) or tmp_path)
    write_sweep(tmp_path, Sweep("cue.size", (2, 4)))
    for size in (2, 8):
        write_json(tmp_path / f"cue.size={size}" / "score.json", scorecard({"sgd": {"1": seed(size, 0.6, 0.4)}}))
    write_sweep(tmp_path, Sweep("cue.size", (6, 8)))
    assert report_sweep(tmp_path) == tmp_path
    folder, key, points = seen["words"]
    assert (folder, key) == (tmp_path, "cue.size")
    assert {value: card["methods"]["sgd"]["per_seed"]["1"]["E"] for value, card in points} == {8: 8, 2: 2}
    (tmp_path / "empty").mkdir()
    write_sweep(tmp_path / "empty", Sweep("cue.size", (6, 8)))
    with pytest.raises(InputError, match="holds no finished run yet"):
        report_sweep(tmp_path / "empty")


@pytest.mark.parametrize("asked", [True, False])
def test_the_guides_claims_stand_there_where_its_files_are_asked_for(results, quick, asked):
    values = results.config().model_dump(mode="json") | {"guide_files": asked}
    results.write_config(build_config(values))
    card, page = report_study(results)
    assert ("guide" in card) is asked
    assert ('id="guide"' in page.read_text()) is asked
    assert (results.path / "tables" / "guide_claims.csv").exists() is asked
