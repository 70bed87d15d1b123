"""A running study: jobs, progress, curves and provisional verdicts, as soon as they are on disk."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from einstellung.experiments.live_timeline import LiveTimeline
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import PlainLines
from einstellung.experiments.progress_file import ProgressFile
from einstellung.files import write_json, write_text
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder

from .studies import rows, write_run, write_study


def job(kind: str, method: str, folder: str) -> Job:
    return Job(kind, method, 1, folder, "key", None, 100.0)


def within_two_seconds(found: Callable[[], bool]) -> bool:
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        if found():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def begun(tmp_path):
    """A study that has just begun: a configuration, no run."""
    folder = tmp_path / "results" / "live"
    ResultsFolder(folder).write_config(build_config({"methods": ["scratch_t2", "sgd"], "seeds": [1]}))
    write_json(folder / "proof.json", {"facts": {}})
    return folder


def measure(live: LiveTimeline, method: str, epoch: int) -> None:
    every = rows(method, 1, epoch)
    live.add(every[every["epoch"] == epoch].to_dict("records"))


def test_a_running_study_is_seen_within_two_seconds(begun, serve, capsys):
    client = serve(begun.parent)
    t1, scratch, sgd = (
        job("first_phase", "sgd", "first_phases/sgd-seed1-abc"),
        job("run", "scratch_t2", "runs/scratch_t2-seed1"),
        job("run", "sgd", "runs/sgd-seed1"),
    )
    study = lambda: client.json("api/study?study=0/live")  # noqa: E731
    curves = lambda: client.json("api/curves?study=0/live&split=T2_val")  # noqa: E731
    with ProgressFile(begun, [t1, scratch, sgd], PlainLines([t1, scratch, sgd])) as display:
        assert study()["state"] == "running"
        assert client.json("api/verdict?study=0/live")["problems"] == ["nothing is measured yet"]
        display.started(t1)
        display.started(scratch)
        display.advanced(scratch, 25.0, "T2 epoch 2/8")
        assert within_two_seconds(lambda: len(study()["jobs"]) == 2)
        assert study()["jobs"][1] == {
            "label": "scratch_t2 seed 1",
            "kind": "run",
            "done": 0.25,
            "where": "T2 epoch 2/8",
        }
        assert study()["share"] == pytest.approx(25 / 300)

        first = LiveTimeline(begun / t1.folder)
        measure(first, "sgd", 0)
        assert within_two_seconds(lambda: curves()["splits"] != [])
        assert [curve["method"] for curve in curves()["curves"]["T2_val"]] == ["sgd (first phase)"]
        first.remove()
        display.ended(t1, None)

        live = {method: LiveTimeline(begun / "runs" / f"{method}-seed1") for method in ("scratch_t2", "sgd")}
        display.started(sgd)
        for epoch in range(4):
            version = study()["version"]
            for method, file in live.items():
                measure(file, method, epoch)
            assert within_two_seconds(lambda: study()["version"] != version)  # noqa: B023 (called at once)
            shown = {curve["method"]: curve["epochs"] for curve in curves()["curves"]["T2_val"]}
            assert shown == {"scratch_t2": list(range(epoch + 1)), "sgd": list(range(epoch + 1))}
        (verdict,) = client.json("api/verdict?study=0/live")["verdicts"]
        assert verdict["stored"] is False
        assert "2 unfinished runs, at equal training: every run is truncated at epoch 3 of T2" in verdict["basis"]
        assert [row[0]["text"] for row in verdict["table"]["rows"]] == ["scratch_t2", "sgd"]

        display.ended(sgd, "diverged")
        assert within_two_seconds(lambda: study()["failed_runs"] == 1)
        (failed,) = [run for run in study()["runs"] if run["reason"]]
        assert (failed["method"], failed["state"], failed["reason"]) == ("sgd", "failed", "diverged")
    told = study()
    assert (told["state"], told["jobs"], told["share"]) == ("incomplete", [], None)


def test_finished_runs_and_unfinished_ones_are_kept_apart(tmp_path, serve):
    """Beside finished runs of 6 epochs, a run at epoch 2 is compared with their first two epochs only."""
    study = write_study(tmp_path / "one", scored=False)
    for name in ("status.json", "timeline.csv"):
        (study / "runs/sgd-seed3" / name).unlink()
    live = study / "runs/sgd-seed3/live.csv"
    write_text(live, rows("sgd", 3, 2).to_csv(index=False))
    client = serve(tmp_path)
    finished, equal = client.json("api/verdict?study=0/one")["verdicts"]
    assert finished["basis"] == "5 finished of 6 runs"
    assert "epoch 2 of T2" in equal["basis"]

    reference = tmp_path / "cut" / "one"
    write_study(reference, scored=False)
    for method in ("scratch_t2", "sgd"):
        for seed in (1, 2, 3):
            write_run(reference, method, seed, epochs=2)
    (whole,) = serve(tmp_path / "cut").json("api/verdict?study=0/one")["verdicts"]
    assert equal["table"] == whole["table"]
    assert equal["answer"] == whole["answer"]


def test_a_run_that_has_only_begun_is_not_judged(tmp_path, serve):
    study = write_study(tmp_path / "one", scored=False)
    for name in ("status.json", "timeline.csv"):
        (study / "runs/sgd-seed3" / name).unlink()
    write_text(study / "runs/sgd-seed3/live.csv", rows("sgd", 3, 0).to_csv(index=False))
    (verdict,) = serve(tmp_path).json("api/verdict?study=0/one")["verdicts"]
    assert verdict["basis"] == "5 finished of 6 runs"


@pytest.mark.parametrize("folder", ["../../elsewhere/first_phases/x", "/tmp", "../outside", ""])
def test_a_progress_file_cannot_point_outside(begun, serve, folder):
    outside = begun.parents[1] / "elsewhere" / "first_phases" / "x"
    write_text(outside / "live.csv", rows("secret", 1, 3).to_csv(index=False))
    write_text(begun.parents[1] / "outside" / "live.csv", rows("secret", 1, 3).to_csv(index=False))
    facts = {"kind": "first_phase", "method": "secret", "seed": 1, "label": "x", "where": "", "done": 0.5}
    told = {"jobs": [{**facts, "folder": folder, "state": "running"}], "share": 0.1, "seconds_left": None}
    write_json(begun / "progress.json", told)
    assert serve(begun.parent).json("api/curves?study=0/live")["splits"] == []


def test_a_run_is_finished_before_its_process_says_so_and_running_again_after_it_lost_a_file(tmp_path, serve):
    study = write_study(tmp_path / "one", seeds=(1,), scored=False)
    again = job("run", "sgd", "runs/sgd-seed1")
    client = serve(tmp_path)
    state = lambda: {run["method"]: run["state"] for run in client.json("api/study?study=0/one")["runs"]}  # noqa: E731
    with ProgressFile(study, [again], PlainLines([again])) as display:
        display.started(again)
        assert within_two_seconds(lambda: client.json("api/study?study=0/one")["jobs"] != [])
        assert state() == {"scratch_t2": "finished", "sgd": "finished"}
        (study / "runs/sgd-seed1/timeline.csv").unlink()
        LiveTimeline(study / "runs/sgd-seed1").add(rows("sgd", 1, 2).to_dict("records"))
        assert state() == {"scratch_t2": "finished", "sgd": "running"}


def test_the_first_phase_that_the_studies_of_a_sweep_share_is_shown(begun, serve):
    LiveTimeline(begun.parent / "first_phases" / "sgd-seed1-abc").add(rows("sgd", 1, 1).to_dict("records"))
    shared = job("first_phase", "sgd", "../first_phases/sgd-seed1-abc")
    with ProgressFile(begun, [shared], PlainLines([shared])) as display:
        display.started(shared)
        curves = lambda client: client.json("api/curves?study=0/live")  # noqa: E731
        inside, alone = serve(begun.parent), serve(begun)
        assert within_two_seconds(lambda: curves(inside)["splits"] != [])
        assert alone.json("api/curves?study=0")["splits"] == []  # it lies outside what is served


def test_curves_are_means_and_ranges_over_seeds(tmp_path, serve):
    write_study(tmp_path / "one", scored=False)
    told = serve(tmp_path).json("api/curves?study=0/one&phase=T2&split=T2_val")
    (curve,) = [curve for curve in told["curves"]["T2_val"] if curve["method"] == "sgd"]
    every = [rows("sgd", seed, 6).query("split == 'T2_val'").set_index("epoch")["acc"] for seed in (1, 2, 3)]
    for place, epoch in enumerate(curve["epochs"]):
        values = [one[epoch] for one in every]
        assert curve["mean"][place] == pytest.approx(sum(values) / 3, abs=1e-6)
        assert curve["low"][place] == pytest.approx(min(values), abs=1e-6)
        assert curve["high"][place] == pytest.approx(max(values), abs=1e-6)
        assert curve["n"][place] == 3
    assert [one["seed"] for one in curve["seeds"]] == [1, 2, 3]
