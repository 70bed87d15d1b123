"""The pipelines under ``examples/ci``: valid YAML, and their commands do what they say on small files."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from einstellung.cli import main
from tests.gating.tables import drawn

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples/ci"
CODES = {"pass": 0, "fail": 1, "inconclusive": 3}


def read(name):
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def github() -> list[str]:
    (job,) = read("github-actions.yml")["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step and not step["run"].startswith("pip ")]


def gitlab() -> list[str]:
    return [line for line in read("gitlab-ci.yml")["reliance-gate"]["script"] if not line.startswith("pip ")]


def pre_commit() -> list[str]:
    (hook,) = read("pre-commit-config.yaml")["repos"][0]["hooks"]
    assert (hook["language"], hook["pass_filenames"]) == ("system", False)
    return [hook["entry"]]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with predictions, and the command on the path as an installed one would be."""
    command = tmp_path / "bin" / "einstellung"
    command.parent.mkdir()
    command.write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'from einstellung.cli import main; main()' \"$@\"\n"
    )
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "predictions").mkdir()
    drawn(1000, 0.9, 0.8, 1).to_csv(tmp_path / "predictions/deployed.csv", index=False)
    return tmp_path


def run(line, folder) -> int:
    return subprocess.run(["bash", "-e", "-c", line], cwd=folder, capture_output=True, check=False).returncode


@pytest.fixture
def here(checkout, monkeypatch):
    """Run a line in this process where it is our command: starting Python takes seconds."""
    monkeypatch.chdir(checkout)

    def run_here(line, folder=checkout) -> int:
        words = shlex.split(line)
        if words[0] != "einstellung":
            return run(line, folder)
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as stopped:
            main()
        return int(stopped.value.code or 0)

    return run_here


def test_the_whole_of_a_pipeline_in_a_shell(checkout):
    drawn(1000, 0.95, 0.6, 2).to_csv(checkout / "predictions/candidate.csv", index=False)
    assert [run(line, checkout) for line in github()] == [1, 0]
    assert "### Reliance gate: fail" in (checkout / "summary.md").read_text()


@pytest.mark.parametrize("lines", [github, gitlab, pre_commit])
@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_pipelines_pass_and_fail(lines, verdict, checkout, here):
    after = drawn(1000, 0.9, 0.8, 1) if verdict == "pass" else drawn(1000, 0.95, 0.6, 2)
    after.to_csv(checkout / "predictions/candidate.csv", index=False)
    first, *others = lines()
    assert here(first) == CODES[verdict]
    assert [here(line) for line in others] == [0] * len(others)


def test_the_report_is_where_gitlab_looks_for_it(checkout, here):
    drawn(1000, 0.95, 0.6, 2).to_csv(checkout / "predictions/candidate.csv", index=False)
    here(gitlab()[0])
    report = read("gitlab-ci.yml")["reliance-gate"]["artifacts"]["reports"]["junit"]
    assert ElementTree.parse(checkout / report).getroot().get("failures") == "1"


def test_what_is_inconclusive_is_a_warning_on_gitlab_and_passes_a_commit(checkout, here):
    few = drawn(1000, 0.9, 0.8, 1)
    few = few[few["id"].isin([f"x{place}" for place in range(100)])]
    for name in ("deployed", "candidate"):
        few.to_csv(checkout / f"predictions/{name}.csv", index=False)
    assert here(gitlab()[0]) == read("gitlab-ci.yml")["reliance-gate"]["allow_failure"]["exit_codes"] == 3
    assert here(pre_commit()[0]) == 0


def test_bad_input_ends_with_two_and_no_summary(checkout, here):
    first, summary = github()
    assert here(first) == 2  # there is no candidate
    assert here(summary) == 0
    assert not (checkout / "gate").exists()
