"""The SLURM launcher: with submitit's stand-ins for a cluster, and on a real one where there is one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from einstellung.experiments.launchers import slurm
from einstellung.experiments.launchers.slurm import FOLDER, queued_jobs
from tests.experiments.conftest import einstellung, results, study

from .conftest import epochs, frail, without_keys

LOCAL = {"name": "slurm", "cluster": "local", "time": 20}


@pytest.mark.parametrize("cluster", ["debug", "local"])
def test_the_bytes_are_those_of_the_local_launcher(cluster, tiny, by_local, tmp_path, capsys):
    outcome = study(tiny, tmp_path / "out", workers=2, launcher={**LOCAL, "cluster": cluster})
    assert not outcome.failures
    assert results(tmp_path / "out") == by_local
    assert capsys.readouterr().err.count("done   ") == 5
    assert not (tmp_path / "out" / FOLDER).exists()  # scripts and logs stay only where something failed


def test_an_error_of_the_job_is_its_own_and_is_not_repeated(tiny, tmp_path):
    outcome = study(tiny, tmp_path / "out", launcher=LOCAL, **frail(tmp_path / "a", fails=True))
    (failure,) = outcome.failures
    assert failure.reason.startswith("RuntimeError: as asked (frail.py, line ")
    assert epochs(tmp_path / "a") == [1]
    assert (tmp_path / "out/runs/scratch_t2-seed1/timeline.csv").exists()


def test_a_job_that_dies_is_submitted_again_and_goes_on_from_its_checkpoint(tiny, tmp_path, capsys):
    assert not study(tiny, tmp_path / "well", **frail(tmp_path / "a", dies=0)).failures
    outcome = study(tiny, tmp_path / "out", launcher=LOCAL, **frail(tmp_path / "b", dies=1))
    assert not outcome.failures
    assert epochs(tmp_path / "b") == [1, 2, 2]
    assert without_keys(results(tmp_path / "out")) == without_keys(results(tmp_path / "well"))
    assert "it is submitted again" in capsys.readouterr().err


def test_a_job_that_always_dies_is_given_up_with_its_log(tiny, tmp_path):
    outcome = study(tiny, tmp_path / "out", launcher={**LOCAL, "retries": 0}, **frail(tmp_path / "a", dies=99))
    (failure,) = outcome.failures
    assert "ended early" in failure.reason
    log = failure.reason.partition("log: ")[2].partition(";")[0]
    assert os.path.exists(log)


def test_the_scripts_of_a_dry_run_need_no_cluster_and_write_nothing(tiny, tmp_path, monkeypatch):
    options = ("--slurm-partition", "gpu", "--slurm-time", "90", "--slurm-memory", "4GB", "--slurm-gpus", "1")
    words = (
        "run",
        tiny,
        "--out",
        tmp_path / "out",
        "--launcher",
        "slurm",
        *options,
        "--workers",
        "3",
        "--dry-run",
        "--json",
    )
    done = einstellung(*words, PATH="/nowhere")
    first, second = json.loads(done.stdout)["studies"]["tiny"]["scripts"]
    for line in ("--partition=gpu", "--time=90", "--mem=4000M", "--gpus-per-node=1", "--cpus-per-task=1", "--requeue"):
        assert f"#SBATCH {line}\n" in first
    assert "#SBATCH --array=0-2%3\n" in first  # two first phases and the run from random weights
    assert "#SBATCH --array=0-1%2\n" in second
    assert f"-m submitit.core._submit {tmp_path / 'out' / FOLDER}" in first
    assert not (tmp_path / "out").exists()


def test_without_slurm_there_is_one_line_and_nothing_is_written(tiny, tmp_path):
    done = einstellung("run", tiny, "--out", tmp_path / "out", "--launcher", "slurm", expect=2, PATH="/nowhere")
    assert done.stderr.startswith("einstellung: SLURM's sbatch was not found; nothing was run")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def _slurm() -> str | None:
    """Why there is no SLURM to test with; None where there is."""
    if shutil.which("sbatch") is None:
        return "SLURM is not installed"
    if queued_jobs() is None:
        return "SLURM is installed, but its controller does not answer"
    return None


real = pytest.mark.skipif(_slurm() is not None, reason=str(_slurm()))


@real
def test_a_real_cluster_gives_the_same_bytes_and_a_killed_command_takes_its_jobs_over(tiny, by_local, tmp_path):
    words = [
        sys.executable,
        "-m",
        "einstellung",
        "run",
        str(tiny),
        "--out",
        str(tmp_path / "out"),
        "--launcher",
        "slurm",
    ]
    record = tmp_path / "out" / FOLDER / "jobs.json"
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as killed:
        until = time.monotonic() + 120
        while not record.exists() and time.monotonic() < until:
            time.sleep(0.1)
        killed.send_signal(signal.SIGKILL)
    numbers = {one["number"] for one in json.loads(record.read_text()).values()}
    assert len(numbers) == 3
    done = subprocess.run(words, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "is in the queue already (" in done.stderr or "reused" in done.stderr
    assert results(tmp_path / "out") == by_local


@real
def test_a_partition_that_does_not_exist_is_one_line(tiny, tmp_path):
    words = ("run", tiny, "--out", tmp_path / "out", "--launcher", "slurm", "--slurm-partition", "nowhere")
    done = einstellung(*words, expect=2)
    assert "SLURM did not take the jobs: " in done.stderr


def test_an_array_is_never_longer_than_slurm_takes():
    assert slurm._array_sizes(2001) == [1000, 1000, 1]
