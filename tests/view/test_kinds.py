"""Every diagnosis alike, finished, half done and broken off at any epoch."""

from __future__ import annotations

import shutil

import pytest

from einstellung.diagnoses.registry import recognise
from einstellung.diagnoses.reporting import score_folder
from einstellung.files import write_json
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline
from tests.diagnoses.confounding import confounded
from tests.diagnoses.shortcuts import timelines as shortcuts
from tests.metrics.timelines import run, timeline

TIMELINES = {
    "rigidity": timeline(
        *(run("scratch_t2", seed, [0.1, 0.3, 0.5, 0.7 + seed / 50], [0.1, 0.2, 0.3, 0.4]) for seed in (1, 2, 3)),
        *(run("sgd", seed, [0.3, 0.7, 0.8, 0.9 - seed / 50], [0.1, 0.2, 0.3, 0.3]) for seed in (1, 2, 3)),
    ),
    "confounding": confounded.study(confounded.three_tasks(), spread=0.01),
    "shortcuts": shortcuts.study(shortcuts.moved(), spread=0.004, twins=True, epochs=(1.0, 2.0, 3.0, 4.0)),
}
KINDS = pytest.mark.parametrize("kind", TIMELINES)


def write(folder, kind, running=None, until=("T9", 99.0)):
    """A study of a kind; runs of the method ``running`` have come ``until`` a phase and an epoch."""
    whole = TIMELINES[kind]
    seeds = sorted({seed for _, seed in whole.runs})
    settings = {"diagnosis": recognise(whole.splits).name, "methods": whole.methods, "seeds": seeds}
    ResultsFolder(folder).write_config(build_config(settings))
    write_json(folder / "proof.json", {"facts": {}})
    for (method, seed), frame in whole.frame.groupby(["method", "seed"]):
        place = folder / "runs" / f"{method}-seed{seed}"
        if method == running:
            frame = frame[[moment <= until for moment in zip(frame["phase"], frame["epoch"], strict=True)]]
        else:
            write_json(place / "status.json", {"state": "finished"})
        if len(frame):
            Timeline(frame.reset_index(drop=True)).write(place / ("live.csv" if method == running else "timeline.csv"))
    return ResultsFolder(folder)


@KINDS
def test_what_is_shown_is_what_the_report_says(kind, tmp_path, serve):
    results = write(tmp_path / "a", kind)
    copy = shutil.copytree(tmp_path / "a", tmp_path / "b")
    scored = score_folder(ResultsFolder(copy), {})  # of the copy: it writes the merged timeline
    write_json(copy / "score.json", scored.to_json())
    client = serve(tmp_path)
    (provisional,) = client.json("api/verdict?study=0/a")["verdicts"]
    (stored,) = client.json("api/verdict?study=0/b")["verdicts"]
    assert (provisional["stored"], stored["stored"]) == (False, True)
    assert stored["answer"] == scored.diagnosis.answer(scored.card.baseline_first())
    assert provisional["answer"] == stored["answer"]
    assert provisional["table"] == stored["table"]
    assert not (results.path / "timeline.csv").exists()


@KINDS
def test_it_differs_from_itself_by_nothing(kind, tmp_path, serve):
    write(tmp_path / "a", kind)
    write(tmp_path / "b", kind)
    told = serve(tmp_path).json("api/compare?study=0/a&study=0/b")
    differences = [cell[1]["difference"] for row in told["rows"] for cell in row["facets"].values() if cell[1]["n"]]
    assert len(differences) >= 10
    assert {one["value"] for one in differences} == {0.0}
    assert {one["interval"] for one in differences} == {"no spread over seeds: no interval"}
    assert set(told["shown"]) <= {facet["name"] for facet in told["facets"]}
    assert told["shown"]
    assert (told["settings"], told["conditions"]) == ([], [])


@KINDS
@pytest.mark.parametrize("until", [("T0", 0.0), ("T1", 0.0), ("T1", 2.0), ("T2", 1.0), ("T2", 3.0), ("T3", 2.0)])
def test_a_study_that_is_half_done_has_a_verdict_or_a_reason(kind, until, tmp_path, serve):
    for place, method in enumerate(TIMELINES[kind].methods[:2]):
        write(tmp_path / str(place), kind, method, until)
    client = serve(tmp_path)
    for place in range(2):
        told = client.json(f"api/verdict?study=0/{place}")
        assert told["verdicts"] or told["problems"]
        assert not [problem for problem in told["problems"] if "Error" in problem]
        for verdict in told["verdicts"]:
            assert verdict["answer"][0]
            assert verdict["table"]["rows"]
        assert client.json(f"api/curves?study=0/{place}")["splits"]


def test_different_questions_have_no_difference(tmp_path, serve):
    write(tmp_path / "a", "rigidity")
    write(tmp_path / "b", "confounding")
    told = serve(tmp_path).json("api/compare?study=0/a&study=0/b")
    assert told["note"] == "The studies have different diagnoses, so their numbers are shown without differences."
    assert all("difference" not in cell for row in told["rows"] for cells in row["facets"].values() for cell in cells)
