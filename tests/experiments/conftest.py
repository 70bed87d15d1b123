"""Small studies, run through the real command line in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from einstellung.cli import main
from einstellung.experiments.study import Outcome, prepare_study, run_study
from einstellung.hashes import fingerprint, read_sealed, write_sealed
from einstellung.results.config import build_config, merged, read_config
from einstellung.results.folder import ResultsFolder

SMALL = {
    "name": "small",
    "stream": {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 2},
    "backbone": {"name": "resnet18", "width": 8},
    "training": {"epochs": [1, 3], "batch_size": 8, "precision": "fp32"},
    "evaluation": {"first_phase": "own"},
    "methods": ["scratch_t2", "sgd", "ewc_on", "derpp"],
    "learners": {"ewc_on": {"e_lambda": 1.0, "fisher_images": 20}, "derpp": {"buffer": 20, "draw": 4}},
    "seeds": [1],
}


@pytest.fixture
def small_config(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(SMALL))
    return path


def einstellung(*words: object, expect: int | None = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """The installed command, as a user types it."""
    done = subprocess.run(
        [sys.executable, "-c", "from einstellung.cli import main; main()", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **environment},
    )
    if expect is not None:
        assert done.returncode == expect, done.stderr
    return done


def typed(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """The exit code of a command, typed into this very process: most of a new one's time would be spent on imports."""
    monkeypatch.setattr(sys, "argv", ["einstellung", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


def study(config: Path, out: Path, workers: int = 1, **changes: object) -> Outcome:
    """The same study without the command line and its report: faster where only the runs matter."""
    values = merged(read_config(config), changes)
    prepared = prepare_study(build_config(values), out)
    with ResultsFolder(out).in_use():
        return run_study(prepared, out, workers, "a test")


def recorded_again(run: Path, **changes: object) -> None:
    """The record of a finished run whose files a test changed on purpose: with their new hashes."""
    status = {**read_sealed(run / "status.json"), **changes}
    files = {name: fingerprint(run / name) for name in status["files"]}
    write_sealed(run / "status.json", {**status, "files": files})


def results(folder: Path) -> dict[str, bytes]:
    """Every byte of a study that must not depend on how it was run."""
    names = ("timeline.csv", "model.safetensors", "model_last.safetensors", "predictions.csv", "predictions_last.csv")
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.name in names or path.suffix == ".safetensors"
    }
