"""One report for all tests of the rigidity index (it takes seconds), and a card worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import Scored, write_report
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.published import reported_numbers
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.results.config import build_config
from einstellung.results.run_files import RunFiles, run_folder
from einstellung.timeline import Timeline

from .hand_made import prediction_frame, scorecard, seed, timeline_frame, write_pictures, write_samples

PROOF = {
    "stream": "shapes",
    "facts": {"chance": 1 / 36, "chance_task": 1 / 12, "cue_alone": 1 / 6, "training_images": {"T1": 4800, "T2": 2400}},
    "checks": [
        {"name": "phases share no class", "passed": True, "detail": "24 and 12 classes"},
        {"name": "mask covers the patch", "passed": False, "detail": "3 of 600 masks lie beside it"},
    ],
}


@dataclass(frozen=True)
class Written:
    """A report on disk and what it was made from."""

    folder: Path
    evidence: Evidence
    card: RigidityCard
    html: str


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("report")
    frame = timeline_frame()
    timeline = Timeline(frame.assign(acc_task=(frame["acc"] + 0.1).clip(upper=1)))
    for run in timeline.runs:
        run_folder(folder, run).mkdir(parents=True)
        prediction_frame().to_csv(run_folder(folder, run) / "predictions.csv", index=False)
    write_samples(folder / "samples.npz")
    write_pictures(run_folder(folder, ("derpp", 42)) / "pictures.npz")
    config = build_config({"stream": {"name": "shapes", "note": "<demo>"}, "methods": list(timeline.methods)})
    evidence = Evidence(timeline, PROOF, config, RunFiles(folder, timeline.runs))
    card = Rigidity().score(evidence, RigiditySettings())
    card = card.model_copy(update={"reported": reported_numbers(card.methods)})
    page = write_report(
        folder,
        Scored(Rigidity(), evidence, card),
        title="A & B <report>",
        provenance={"command": "einstellung demo", "packages": {"torch": "2.13.0"}, "git_commit": None},
    )
    return Written(folder, evidence, card, page.read_text(encoding="utf-8"))


@pytest.fixture
def card() -> dict[str, Any]:
    """Plain values, for a test to change. Three seeds; ewc_on crosses 0.6 in two of them; gpm never does and has no T1 rows."""
    return scorecard(
        {
            "scratch_t2": {
                "1": seed(8, 0.60, 0.40, NSC=0.70, T1=0.0),
                "2": seed(9, 0.62, 0.43, NSC=0.71, T1=0.0),
                "3": seed(None, 0.58, 0.40, NSC=0.69, T1=0.0),
            },
            "ewc_on": {
                "1": seed(4, 0.70, 0.30, NSC=0.75, T1=0.10, T1_after_T1=0.60),
                "2": seed(3, 0.74, 0.33, NSC=0.77, T1=0.12, T1_after_T1=0.62),
                "3": seed(5, 0.72, 0.33, NSC=0.76, T1=0.11, T1_after_T1=0.64),
            },
            "gpm": {
                "1": seed(None, 0.50, 0.35, NSC=0.60),
                "2": seed(None, 0.52, 0.36, NSC=0.61),
                "3": seed(None, 0.51, 0.37, NSC=0.62),
            },
        },
        ewc_on={"pattern": "red-flag", "certainty": "too few seeds"},
    )
