"""The Ray launcher on clusters of this machine: bytes, deaths, errors, ports, clusters that do not answer."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import ray

from tests.experiments.conftest import einstellung, results, study

from .conftest import epochs, frail, without_keys

NEVER = "127.0.0.1:9"  # nobody listens there


@pytest.fixture(scope="module", autouse=True)
def one_cluster():
    """The first study starts a cluster in this process, and the others use it."""
    yield
    ray.shutdown()


@pytest.mark.parametrize(
    "options", [{}, {"results": "driver", "data": "send"}], ids=["results shared, data found", "results and data sent"]
)
def test_the_bytes_are_those_of_the_local_launcher(options, tiny, by_local, tmp_path, capsys):
    outcome = study(tiny, tmp_path / "out", workers=2, launcher={"name": "ray", **options})
    assert not outcome.failures
    assert results(tmp_path / "out") == by_local
    said = capsys.readouterr().err
    assert ("sent back and written here" in said) == bool(options)
    assert said.count("done   ") == 5
    assert "test 0" in said or "val" in said  # the latest accuracy, from the workers
    assert not [path for path in (tmp_path / "out").rglob("*") if "checkpoint" in path.name or path.name == "live.csv"]


@pytest.mark.parametrize("options", [{}, {"results": "driver", "data": "send"}], ids=["shared", "sent"])
def test_a_job_whose_worker_dies_goes_on_from_its_checkpoint(options, tiny, tmp_path, capsys):
    assert not study(tiny, tmp_path / "well", **frail(tmp_path / "a", dies=0)).failures
    change = frail(tmp_path / "b", dies=2)
    outcome = study(tiny, tmp_path / "out", launcher={"name": "ray", **options}, **change)
    assert not outcome.failures
    assert without_keys(results(tmp_path / "out")) == without_keys(results(tmp_path / "well"))
    assert epochs(tmp_path / "a") == [1, 2]
    assert epochs(tmp_path / "b") == [1, 2, 2, 2]  # the first epoch is not trained again
    said = capsys.readouterr()
    assert said.err.count("frail seed 1: its worker died; it is started again") == 2
    assert "raylet" not in said.out  # which is for results


def test_a_job_that_always_kills_its_worker_is_given_up_and_the_others_are_done(tiny, tmp_path):
    change = frail(tmp_path / "a", dies=1000)
    outcome = study(tiny, tmp_path / "out", launcher={"name": "ray", "retries": 1}, **change)
    (failure,) = outcome.failures
    assert failure.job.label == "frail seed 1"
    assert failure.reason.startswith("its worker died 2 times in a row without getting further")
    assert len(epochs(tmp_path / "a")) <= 5
    assert (tmp_path / "out/runs/scratch_t2-seed1/timeline.csv").exists()


@pytest.mark.parametrize("options", [{}, {"results": "driver", "data": "send"}], ids=["shared", "sent"])
def test_an_error_of_the_job_is_its_own_and_is_not_repeated(options, tiny, tmp_path):
    change = frail(tmp_path / "a", fails=True)
    outcome = study(tiny, tmp_path / "out", launcher={"name": "ray", **options}, **change)
    (failure,) = outcome.failures
    trace = tmp_path / "out/runs/frail-seed1/error.txt"
    assert failure.reason.startswith("RuntimeError: as asked (frail.py, line ")
    assert failure.reason.endswith(f"traceback: {trace}")
    assert trace.read_text().rstrip().endswith("RuntimeError: as asked")
    assert epochs(tmp_path / "a") == [1]


def test_the_ports_of_a_cluster_of_ours_are_closed_to_others(tiny, tmp_path):
    """They listen on other interfaces too (Ray has no option against it), but each connection needs the token."""
    assert ray.is_initialized()
    address = ray.get_runtime_context().gcs_address
    code = f"import ray; ray.init(address='{address}', logging_level='ERROR'); print('let in', ray.nodes())"
    for token in (None, "0" * 64):
        own = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
        own |= {"RAY_AUTH_MODE": "disabled"} if token is None else {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
        own |= {"RAY_gcs_rpc_server_reconnect_timeout_s": "5", "RAY_USAGE_STATS_ENABLED": "0"}
        with pytest.raises((subprocess.CalledProcessError, subprocess.TimeoutExpired)) as refused:
            subprocess.run(
                [sys.executable, "-c", code], env=own, capture_output=True, text=True, timeout=45, check=True
            )
        assert "let in" not in str(refused.value.stdout)


def test_a_cluster_that_does_not_answer_is_one_line_and_nothing_is_written(tiny, tmp_path):
    words = ("run", tiny, "--out", tmp_path / "out", "--launcher", "ray", "--ray-address", NEVER)
    done = einstellung(*words, "--set", "launcher.start_seconds=4", expect=2)
    lines = [line for line in done.stderr.splitlines() if line.startswith("einstellung: ")]
    assert len(lines) == 1
    assert lines[0].startswith(f"einstellung: Ray: the cluster at {NEVER} did not start or answer (")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_job_that_no_node_can_hold_is_refused_before_anything_is_written(tiny, tmp_path):
    from einstellung.errors import InputError
    from einstellung.experiments.study import prepare_study
    from einstellung.results.config import build_config, merged, read_config

    config = build_config(merged(read_config(tiny), {"launcher": {"name": "ray", "memory": "900TB"}}))
    with pytest.raises(InputError, match=r"no node of the cluster has what one job takes \(CPU 1, memory 9e\+14\)"):
        prepare_study(config, tmp_path / "out", about_to_run=True)
    assert not (tmp_path / "out").exists()


def test_a_node_dies_and_its_jobs_go_on_elsewhere(tiny, by_local, tmp_path):
    """Two raylets on loopback; the second one is killed while a job runs on it. Results and data are sent."""
    script = Path(__file__).parent / "two_nodes.py"
    ready = tmp_path / "address"
    quiet = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    quiet = {key: value for key, value in quiet.items() if key != "RAY_AUTH_TOKEN"}
    with subprocess.Popen([sys.executable, script, ready], env=quiet, stdin=subprocess.PIPE) as cluster:
        try:
            until = time.monotonic() + 150
            while not ready.exists() and time.monotonic() < until:
                assert cluster.poll() is None
                time.sleep(0.2)
            typed = ["run", tiny, "--out", tmp_path / "out", "--launcher", "ray", "--ray-address", ready.read_text()]
            typed = [sys.executable, "-m", "einstellung", *map(str, typed), "--workers", "2"]
            done = subprocess.run(typed, env=quiet, capture_output=True, text=True, timeout=240)
        finally:
            cluster.stdin.close()
            cluster.wait(timeout=60)
    assert done.returncode == 0, done.stderr
    assert "2 nodes, 2 CPUs" in done.stderr
    assert "it is started again" in done.stderr
    assert results(tmp_path / "out") == by_local
