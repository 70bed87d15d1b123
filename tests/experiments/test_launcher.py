"""The launcher seam: another launcher is one file, chosen by name, and gives the same bytes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.launcher import Failure, describe_failures
from einstellung.experiments.launchers import launchers
from einstellung.experiments.plan import Job, plan
from einstellung.experiments.study import prepare_study
from einstellung.results.config import build_config, merged

from .conftest import SMALL, results, study, typed
from .in_process import InProcessLauncher

TINY = {"stream": {"size": 8}, "training": {"epochs": [1, 1]}, "methods": ["scratch_t2", "sgd"]}


PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def plugin(folder: Path) -> Path:
    """The launcher of the documentation, as a file of the user's own."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    file = folder / "my_launcher.py"
    file.write_text(code)
    return file


@pytest.mark.usefixtures("own_names")
def test_a_launcher_from_a_plug_in_file_gives_the_same_bytes(small_config, tmp_path, monkeypatch, capsys):
    study(small_config, tmp_path / "local", workers=2, **TINY)
    words = ("run", small_config, "--set", "stream.size=8", "--set", "training.epochs=[1, 1]")
    words += ("--set", f"plugins=[{plugin(tmp_path)}]", "--methods", "scratch_t2,sgd", "--out", tmp_path / "toy")
    assert typed(monkeypatch, *words, "--launcher", "same-process") == 0
    assert "done   sgd seed 1 " in capsys.readouterr().err
    assert results(tmp_path / "toy") == results(tmp_path / "local")
    assert {path.name for path in (tmp_path / "toy" / "first_phases").iterdir()} == {
        path.name for path in (tmp_path / "local" / "first_phases").iterdir()
    }
    assert yaml.safe_load((tmp_path / "toy" / "config.yaml").read_text())["launcher"] == "same-process"
    again = study(small_config, tmp_path / "toy", **TINY)  # another launcher takes the folder over
    assert (again.ran, again.reused) == (0, 2)


def test_failures_are_recorded_and_stop_only_what_needs_them(small_config, tmp_path):
    """An exploding learning rate in T1 fails the first phase; the run from random weights has its own."""
    change = {**TINY, "methods": ["scratch_t2", "sgd"], "launcher": "in_process"}
    unlucky = {"learners": {"sgd": {}}, "training": {"epochs": [1, 1], "lr": 1e30}}
    outcome = study(small_config, tmp_path / "out", **merged(change, unlucky))
    reasons = {failure.job.label: failure.reason for failure in outcome.failures}
    assert reasons["sgd seed 1"] == "its first phase (sgd seed 1 T1) failed"
    assert reasons["sgd seed 1 T1"].startswith("FloatingPointError: the loss is ")
    status = json.loads((tmp_path / "out/runs/scratch_t2-seed1/status.json").read_text())
    assert status["state"] == "failed"
    trace = (tmp_path / "out/runs/scratch_t2-seed1" / status["traceback"]).read_text().splitlines()
    assert trace[0] == "Traceback (most recent call last):"
    assert trace[-1].startswith("FloatingPointError: ")


def test_the_launcher_is_no_part_of_a_runs_key():
    keys = []
    for name in ("local", "in_process"):
        config = resolve(build_config(merged(SMALL, {"launcher": name})))
        keys.append([job.key for job in plan(config, build_stream(config))])
    assert keys[0] == keys[1]


def test_an_unknown_launcher_is_named():
    assert launchers["in_process"] is InProcessLauncher
    assert "local" in launchers
    with pytest.raises(InputError, match="unknown launcher 'locl': did you mean 'local'"):
        prepare_study(build_config(merged(SMALL, {"launcher": "locl"})))


def test_descriptions_and_exit_codes_of_failures():
    job = Job("run", "sgd", 1, "runs/sgd-seed1", "k", None, 1.0)
    full, broken = Failure(job, "disk full", by_input=True), Failure(job, "it broke", by_input=False)
    assert describe_failures([]) == ([], 0)
    assert describe_failures([full, full, full]) == (["sgd seed 1 failed: disk full (and 2 more like it)"], 2)
    assert describe_failures([full, broken]) == (["sgd seed 1 failed: disk full", "sgd seed 1 failed: it broke"], 1)
