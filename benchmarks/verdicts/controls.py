"""The control studies: their training, their ground truth, and their runs as measurements.

Their timelines are kept in ``studies/verdict-controls``; a missing control is trained with ``einstellung run``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from einstellung.diagnoses.rigidity.measurements import RunMeasures, measure
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.timeline import NSC, SC_CLEAN, SC_ELSEWHERE, SC_MASK, SC_PATCH, VAL, Timeline

KEPT = Path(__file__).parents[2] / "studies" / "verdict-controls"
TRAINED = Path("results") / "verdict-controls"
BASELINE = "scratch_t2"
CLASSES = 12  # outputs of the demo's head
SPLITS = (SC_PATCH, SC_MASK, NSC, VAL, SC_CLEAN, SC_ELSEWHERE)

Runs = Mapping[int, RunMeasures]


@dataclass(frozen=True)
class Control:
    """A study of drawn shapes with the demo's net and training: settings beyond the demo's, methods, number of seeds.

    ``seen``: the control was chosen with some of the seeds up to this one, so rates leave them out.
    """

    what: str
    settings: Mapping[str, str]
    methods: tuple[str, ...]
    seeds: int
    seen: int = 0


# Without a predictive cue, scratch does not reach the threshold on the demo's few images: these train on half of the images.
MORE_IMAGES = {"stream.validation": "0.5"}
CONTROLS = {
    "cue": Control("the demo's cue, in T2 only", {}, (BASELINE,), 64),
    "habit": Control(
        "the same cue after a T1 in which it predicted labels too", {"cue.habit": "same"}, ("gpm",), 64, seen=32
    ),
    "no-cue": Control("no cue in training", {**MORE_IMAGES, "cue.share": "0"}, (BASELINE, "sgd"), 64),
    "independent": Control(
        "a cue that is independent of the label",
        {**MORE_IMAGES, "cue.share": "0.5", "cue.share_nsc": "0.5"},
        (BASELINE, "sgd"),
        44,
    ),
    "always": Control("a cue on every image of its classes", {"cue.share": "1"}, (BASELINE,), 64),
}


def command(name: str, python: str = sys.executable) -> list[str]:
    """How a control is trained."""
    control = CONTROLS[name]
    settings = [word for key, value in control.settings.items() for word in ("--set", f"{key}={value}")]
    seeds = ",".join(str(seed) for seed in range(1, control.seeds + 1))
    return [
        *(python, "-m", "benchmarks.einstellung_command", "run", "--preset", "demo"),
        *(*settings, "--methods", ",".join(control.methods), "--seeds", seeds),
        *("--out", str(TRAINED / name)),
    ]


def timeline(name: str) -> Timeline:
    """The control's timeline; trained if missing."""
    file = KEPT / f"{name}.csv.xz"
    if not file.exists():
        subprocess.run(command(name), check=True)
        keep(TRAINED / name / "timeline.csv", file)
    return Timeline(pd.read_csv(file))


def keep(timeline_file: Path, file: Path) -> None:
    """Keep only the part of a timeline that verdicts use: the splits of phase 2."""
    frame = pd.read_csv(timeline_file)
    rows = frame[(frame["phase"] == "T2") & frame["split"].isin(SPLITS)]
    file.parent.mkdir(parents=True, exist_ok=True)
    rows.round(6).to_csv(file, index=False)


def runs(name: str, settings: RigiditySettings) -> dict[str, Runs]:
    """The measurements of every run that counts, by method and seed."""
    table, seen = timeline(name), CONTROLS[name].seen
    return {
        method: {
            seed: measure(table, method, seed, settings, "best-val", BASELINE)
            for seed in table.seeds(method)
            if seed > seen
        }
        for method in table.methods
    }
