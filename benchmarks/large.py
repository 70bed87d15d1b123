"""A study of 10,000 runs: planning, scoring, the page and the list of studies, each in a process of its own with its peak memory.

The runs are synthetic but whole: every file that a finished run leaves, with its hash, under the key that the plan gives it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measuring import peak_memory, row
from benchmarks.peers.process import ONE_THREAD
from einstellung.experiments.plan import Job, plan
from einstellung.experiments.study import Prepared, prepare_study
from einstellung.files import to_json
from einstellung.hashes import fingerprint_of, sealed
from einstellung.results.config import StudyConfig, build_config
from einstellung.results.folder import ResultsFolder
from einstellung.streams import Stream

METHODS = ("scratch_t2", "sgd", "ewc_on", "derpp", "er", "gdumb", "lle", "sd", "mixup", "cutout")
SEEDS, SHORT_SEEDS = 1000, 100
SECONDS, GIGABYTES = 60.0, 1.0
EPOCHS = 5
STEPS = ("plan", "score", "report", "list")
_STUDY = {
    "name": "large",
    "stream": {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 2},
    "backbone": {"name": "resnet18", "width": 8},
    "training": {"epochs": [1, EPOCHS], "precision": "fp32", "kernels": "torch", "layout": "contiguous"},
    "evaluation": {"first_phase": "own"},
}


def measure(short: bool) -> dict[str, Any]:
    seeds = SHORT_SEEDS if short else SEEDS
    rows = []
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "large"
        begin = time.perf_counter()
        size = make_study(folder, seeds)
        made = time.perf_counter() - begin
        what = f"{len(METHODS) * seeds:,} runs"
        rows.append(row(f"{what}: making the folder", f"{made:.0f} s, {size / 2**20:,.0f} MB", "no target", None))
        for step in STEPS:
            print(f"  {step} ...", file=sys.stderr, flush=True)
            found = _in_own_process(step, folder)
            limited = step == "report"
            rows.append(
                row(
                    f"{what}: {step}",
                    f"{found['core_seconds']:.1f} core-seconds ({found['seconds']:.1f} s), peak {found['gigabytes']:.2f} GB",
                    f"under {GIGABYTES:g} GB" + (f", at most {SECONDS:g} s" if limited else ""),
                    found["gigabytes"] < GIGABYTES and (not limited or found["core_seconds"] <= SECONDS),
                    **found,
                )
            )
    return {"rows": rows}


def make_study(folder: Path, seeds: int) -> int:
    """Write a study with so many seeds of each method; return its size."""
    prepared = prepare_study(configuration(seeds))
    results = ResultsFolder(folder)
    results.write_config(prepared.config, proof=f"{to_json(prepared.proof.to_dict())}\n".encode())
    total = 0
    for job in plan(prepared.config, prepared.stream):
        total += _write_job(folder, job, prepared)
    return total


def configuration(seeds: int) -> StudyConfig:
    return build_config({**_STUDY, "methods": METHODS, "seeds": list(range(1, seeds + 1))})


def _write_job(folder: Path, job: Job, prepared: Prepared) -> int:
    draws = np.random.default_rng([job.seed, METHODS.index(job.method)])
    weights = draws.bytes(4096)
    if job.kind == "first_phase":
        files, more = {"state.safetensors": weights}, {}
    else:
        said = _predictions(prepared.stream, draws).encode()
        files = {
            "timeline.csv": _timeline(job, prepared.stream, draws).encode(),
            **dict.fromkeys(("model.safetensors", "model_last.safetensors"), weights),
            **dict.fromkeys(("predictions.csv", "predictions_last.csv"), said),
        }
        more = {"chosen_epoch": float(EPOCHS), "first_phase": job.needs}
    status = {
        "state": "finished",
        "key": job.key,
        "method": job.method,
        "seed": job.seed,
        **more,
        "files": {name: fingerprint_of(content) for name, content in files.items()},
    }
    path = folder / job.folder
    path.mkdir(parents=True)
    files["status.json"] = f"{to_json(sealed(status))}\n".encode()
    for name, content in files.items():
        (path / name).write_bytes(content)  # without the care of a real run: 60,000 files are not synced one by one
    return sum(map(len, files.values()))


def _timeline(job: Job, stream: Stream, draws: np.random.Generator) -> str:
    """Curves that rise, faster for later methods; the cue covered costs some accuracy."""
    names = [split.name for split in stream.splits]
    epochs = np.arange(EPOCHS + 1.0)
    level = 0.8 * (1 - np.exp(-(epochs + 0.2) / (1 + 0.2 * METHODS.index(job.method))))
    lines = ["method,seed,phase,epoch,split,acc,loss,n"]
    for epoch, mean in zip(epochs, level, strict=True):
        noise = draws.normal(0, 0.02, len(names))
        for name, shift in zip(names, noise, strict=True):
            acc = float(np.clip(mean + shift - 0.2 * (name == "T2_shortcut_masked"), 0, 1))
            lines.append(f"{job.method},{job.seed},T2,{epoch},{name},{acc!r},1.0,{len(stream.split(name).images)}")
    return "\n".join(lines) + "\n"


def _predictions(stream: Stream, draws: np.random.Generator) -> str:
    frames = []
    for split in stream.splits:
        labels = split.images.labels.numpy()
        said = np.where(draws.random(len(labels)) < 0.7, labels, draws.permutation(labels))
        columns = {"split": split.name, "index": split.images.index.numpy(), "label": labels, "prediction": said}
        frames.append(pd.DataFrame(columns))
    text: str = pd.concat(frames).to_csv(index=False, lineterminator="\n")
    return text


def _in_own_process(step: str, folder: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.large", step, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **ONE_THREAD},
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _plan(folder: Path) -> None:
    from einstellung.experiments.study import jobs_to_do

    prepared = prepare_study(ResultsFolder(folder).config(), folder)
    jobs, todo = jobs_to_do(prepared, ResultsFolder(folder), "first_phases")
    assert len(jobs) > len(todo) == 0, "every run must be known as finished"


def _score(folder: Path) -> None:
    from einstellung.diagnoses.reporting import score_folder

    assert len(score_folder(ResultsFolder(folder)).card.methods) == len(METHODS)


def _report(folder: Path) -> None:
    from einstellung.diagnoses.reporting import report_study

    report_study(ResultsFolder(folder))


def _list(folder: Path) -> None:
    """What the first page of 'einstellung view' asks for."""
    from einstellung.view.api import Api

    (found,) = Api([folder]).studies()["studies"]
    assert found["state"] == "finished"


def _one(step: str, folder: Path) -> dict[str, float]:
    began, used = time.perf_counter(), time.process_time()
    {"plan": _plan, "score": _score, "report": _report, "list": _list}[step](folder)
    return {
        "seconds": time.perf_counter() - began,
        "core_seconds": time.process_time() - used,
        "gigabytes": peak_memory() / 2**30,
    }


if __name__ == "__main__":
    print(json.dumps(_one(sys.argv[1], Path(sys.argv[2]))))
