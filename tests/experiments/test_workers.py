"""How many workers with how many threads: what is tried, what is chosen, what is kept, what is said."""

from __future__ import annotations

import json

import pytest
import yaml

from einstellung.errors import InputError
from einstellung.experiments import workers as module
from einstellung.experiments.plan import Job
from einstellung.experiments.schedule import makespan
from einstellung.experiments.study import prepare_study
from einstellung.experiments.throughput import PoolMeasurement, Throughput, TrialFailedError
from einstellung.experiments.workers import Candidate, Trial, arrange, candidates, chosen, measure
from einstellung.guide.experiment import Request
from einstellung.results.config import build_config, merged
from einstellung.results.folder import ResultsFolder

from .conftest import SMALL, typed

TINY = merged(
    SMALL, {"stream": {"size": 8}, "training": {"epochs": [1, 1], "threads": "auto"}, "methods": ["scratch_t2", "sgd"]}
)


def pairs(options):
    return [(option.threads, option.workers) for option in options]


def jobs(count, work=1000.0):
    return [Job("run", "m", n, f"run{n}", f"run{n}", None, work) for n in range(count)]


def decided(options, plan, images_per_second, memory=None, needs=None, log=lambda line: None):
    """The choice for these jobs on a machine whose workers are each as fast as ``images_per_second(candidate)``."""

    def seconds(option, rate):
        return makespan(plan, {job.folder: job.work / rate.training for job in plan}, option.workers)

    return measure(
        options, lambda one: PoolMeasurement(Throughput(images_per_second(one), 1.0), needs), seconds, memory, log
    )


def amdahl(option, cores=8, serial=0.2):
    """Threads help less and less; workers beyond the cores share them."""
    speed_up = 1 / (serial + (1 - serial) / option.threads)
    return 100 * speed_up * min(1.0, cores / (option.threads * option.workers))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((2, "auto", "auto", 20), [(2, 1), (1, 2)]),
        ((1, "auto", "auto", 20), [(1, 1)]),
        ((6, "auto", "auto", 20), [(4, 1), (6, 1), (2, 3), (1, 6)]),
        ((8, "auto", "auto", 1), [(1, 1), (2, 1), (4, 1), (8, 1)]),
        ((8, 2, "auto", 20), [(2, 1), (2, 2), (2, 4)]),
        ((8, 16, "auto", 20), [(16, 1)]),
        ((8, "auto", 2, 20), [(1, 2), (2, 2), (4, 2)]),
        ((2, "auto", 5, 20), [(1, 5)]),
    ],
)
def test_what_is_tried(arguments, expected):
    assert pairs(candidates(*arguments)) == expected


def test_many_jobs_want_workers_few_jobs_want_threads():
    many, few = jobs(40), jobs(2)
    assert decided(candidates(8, "auto", "auto", 40), many, amdahl).candidate == Candidate(8, 1)
    assert decided(candidates(8, "auto", "auto", 2), few, amdahl).candidate == Candidate(2, 4)


def test_nine_jobs_on_eight_cores_do_not_end_with_one_core_at_work():
    """Eight workers need two rounds, 2 x 10 s; four workers of two threads three rounds, 3 x 6 s."""
    found = decided(candidates(8, "auto", "auto", 9), jobs(9), amdahl)
    assert found.candidate == Candidate(4, 2)
    assert [trial.seconds for trial in found.trials if trial.candidate == Candidate(8, 1)] == [pytest.approx(20)]
    assert found.throughput.training == pytest.approx(100 / 0.6)


def test_a_machine_that_gains_nothing_from_a_second_worker_gets_one():
    def shared(option):
        return 100 / option.workers

    assert decided(candidates(8, 1, "auto", 8), jobs(8), shared).candidate == Candidate(1, 1)


@pytest.mark.parametrize(("slower", "threads"), [(1.029, 1), (1.031, 4)])
def test_a_tie_goes_to_fewer_threads(slower, threads):
    trials = [Trial(Candidate(2, 4), Throughput(1, 1), 100.0), Trial(Candidate(8, 1), Throughput(1, 1), 100.0 * slower)]
    assert chosen(trials).candidate.threads == threads


def test_never_more_workers_than_memory_allows():
    """60 % of 1340 MB hold three workers of 260 MB: eight are not tried, three are, with one thread and with two.

    Two workers with four threads take 20 x 4 s, three with two 14 x 6 s.
    """
    messages: list[str] = []
    megabyte = 2**20
    options = candidates(8, "auto", "auto", 40)
    found = decided(options, jobs(40), amdahl, 1340 * megabyte, 260 * megabyte, messages.append)
    assert pairs(trial.candidate for trial in found.trials) == [(8, 1), (4, 2), (2, 3), (1, 3)]
    assert found.candidate == Candidate(2, 4)
    assert found.limit == "at most 3 workers: each needs 260 MB of 1340 MB of free memory"
    assert messages.count(f"  {found.limit}") == 1
    assert "  1 worker with 8 threads: 333 images per second, all runs in about 2 min 00 s" in messages


def test_more_workers_than_can_be_run_are_left_out_and_none_at_all_is_an_error():
    def timed(most):
        def of(option):
            if option.workers > most:
                raise TrialFailedError("a worker was killed while it was timed")
            return PoolMeasurement(Throughput(1.0, 1.0), None)

        return of

    options, messages = candidates(8, 1, "auto", 8), list[str]()
    found = measure(options, timed(2), lambda option, rate: 1 / option.workers, None, messages.append)
    assert found.candidate == Candidate(2, 1)
    assert messages[-1] == "  4 workers with 1 thread each: a worker was killed while it was timed"
    with pytest.raises(InputError, match="a worker was killed"):
        measure(options, timed(0), lambda option, rate: 1.0, None, messages.append)


@pytest.fixture
def machine(monkeypatch):
    """Four cores, and a pool that is not there: twice the threads are 2^0.2 times as fast. Lists what was timed."""
    timed: list[tuple[int, int]] = []

    class FakePool:
        def __init__(self, config, planning):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def measure(self, threads, workers, budget):
            timed.append((threads, workers))
            return PoolMeasurement(Throughput(100 * threads**0.2, 1000), 2**20)

    monkeypatch.setattr(module, "WorkerPool", FakePool)
    monkeypatch.setattr(module, "usable_cores", lambda: 4)
    monkeypatch.setattr(module, "free_memory", lambda: 2**40)
    return timed


def arranged(root, workers, log=lambda line: None, **studies):
    configs = {name: build_config(merged(TINY, change)) for name, change in studies.items()}
    prepared = {name: prepare_study(config, root / name) for name, config in configs.items()}
    return arrange(configs, prepared, root, "../first_phases", workers, log)


def test_a_number_is_a_number(machine, tmp_path):
    ready, found = arranged(tmp_path, 3, one={"training": {"threads": 2}})
    assert (found["one"].candidate, found["one"].throughput) == (Candidate(3, 2), None)
    assert ready["one"].config.training.threads == 2
    assert machine == []


def test_threads_are_measured_for_so_many_workers(machine, tmp_path):
    ready, found = arranged(tmp_path, 2, one={})
    assert machine == [(1, 2), (2, 2)]
    assert found["one"].candidate == Candidate(2, 2)
    assert ready["one"].config.training.threads == ready["one"].recorded.training.threads == 2


def test_one_measurement_for_all_studies_of_a_sweep(machine, tmp_path):
    messages: list[str] = []
    ready, found = arranged(tmp_path, None, messages.append, small={"cue": {"size": 2}}, large={"cue": {"size": 4}})
    assert machine == [(4, 1), (1, 2), (2, 2)]  # no more than two runs can go on at once
    assert found["small"] == found["large"]
    assert {study.config.training.threads for study in ready.values()} == {found["small"].threads}
    assert messages[0] == "measuring 3 combinations of workers and threads, about 14 s"
    assert messages[-1] == f"chosen: {found['small'].candidate}"


def test_a_study_that_was_begun_keeps_its_threads_and_so_does_its_sweep(machine, tmp_path):
    begun = prepare_study(build_config(merged(TINY, {"training": {"threads": 3}})))
    (tmp_path / "old").mkdir()
    ResultsFolder(tmp_path / "old").write_config(begun.recorded)
    ready, found = arranged(tmp_path, "auto", old={}, new={"cue": {"size": 2}})
    assert {study.config.training.threads for study in ready.values()} == {3}
    assert machine == []  # one worker of three threads is all that four cores hold
    _, other = arranged(tmp_path, "auto", new={"training": {"threads": 1}})
    assert machine == [(1, 1), (1, 2)]
    assert (found["new"].candidate, other["new"].threads) == (Candidate(1, 3), 1)


@pytest.mark.parametrize(("given", "expected"), [(None, [(1, 1)]), ("auto", [(1, 1), (1, 2)]), (3, [(1, 3)])])
def test_an_accelerator_is_one_runs_own_unless_sharing_is_asked_for(machine, tmp_path, monkeypatch, given, expected):
    import torch

    monkeypatch.setattr(module, "resolve_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr(module, "default_workers", lambda threads: 4)
    _, found = arranged(tmp_path, given, one={})
    tried = machine or [(found["one"].threads, found["one"].workers)]
    assert tried == expected


@pytest.fixture
def auto_config(tmp_path):
    file = tmp_path / "auto.yaml"
    file.write_text(yaml.safe_dump(TINY))
    return file


def test_a_dry_run_reports_the_trials(machine, auto_config, tmp_path, monkeypatch, capsys):
    words = ("run", auto_config, "--out", tmp_path / "out", "--dry-run")
    assert typed(monkeypatch, *words, "--json") == 0
    said = capsys.readouterr()
    seen = json.loads(said.out)
    assert (seen["workers"], seen["threads"], seen["memory_limit"]) == (2, 2, None)
    assert [(trial["threads"], trial["workers"]) for trial in seen["tried"]] == [(4, 1), (1, 2), (2, 2)]
    fastest = seen["tried"][2]
    assert fastest["images_per_second"] == pytest.approx(200 * 2**0.2)
    assert seen["seconds"] == pytest.approx(fastest["seconds"])  # as fast as it was measured among the other workers
    assert "  2 workers with 2 threads each: 230 images per second" in said.err
    assert typed(monkeypatch, *words, "--workers", 1) == 0
    said = capsys.readouterr()
    assert "on 1 worker with 4 threads at the current load; nothing was run" in said.out
    assert not (tmp_path / "out").exists()


def test_validate_measures_nothing(machine, auto_config, monkeypatch, capsys):
    assert typed(monkeypatch, "validate", auto_config, "--json") == 0
    assert json.loads(capsys.readouterr().out)["configuration"]["training"]["threads"] == "auto"
    assert machine == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "0"], "--workers is 0: give a number from 1, or auto"),
        (["--workers", "many"], "--workers is many: give a number from 1, or auto"),
        (["--workers", "1.5"], "--workers is 1.5: give a number from 1, or auto"),
        (["--set", "training.threads=0"], "training.threads: give a number from 1, or auto (got 0)"),
        (["--set", "training.threads=fast"], "training.threads: give a number from 1, or auto (got 'fast')"),
    ],
)
def test_what_is_refused(auto_config, tmp_path, monkeypatch, capsys, words, message):
    assert typed(monkeypatch, "run", auto_config, "--out", tmp_path / "out", *words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("workers", [0, -1, True, 2.0, "many"])
def test_a_request_is_refused_the_same_way(tmp_path, workers):
    with pytest.raises(InputError, match=f"workers is {workers}: give a number from 1, or auto"):
        Request(build_config(TINY), tmp_path, workers=workers)


def test_a_request_takes_what_the_flag_takes(tmp_path):
    assert [Request(build_config(TINY), tmp_path, workers=given).workers for given in ("3", 3, "auto", None)] == [
        3,
        3,
        "auto",
        None,
    ]
