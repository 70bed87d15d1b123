"""Workers as real processes: their environment, what they keep from one job to the next, and workers that are timed at once."""

from __future__ import annotations

import os
import platform
from itertools import chain

import pytest

from einstellung.experiments import local
from einstellung.experiments.assembly import resolve
from einstellung.experiments.processes import handed_over, keep_freed_memory, start_helper, use_threads
from einstellung.experiments.trials import Crew, TrialFailedError
from einstellung.results.config import build_config, merged

from .conftest import SMALL, results, study

TINY = {"stream": {"size": 8}, "training": {"epochs": [1, 1]}, "methods": ["scratch_t2", "sgd"]}
SEEN = ("OMP_WAIT_POLICY", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "EINSTELLUNG_DATA")


def tell_all(pipe):
    """What a helper finds, before and after it was told how many threads to use."""
    import torch

    for threads in chain([None], handed_over(pipe)):
        if threads is not None:
            use_threads(threads)
        found = {name: os.environ.get(name) for name in SEEN}
        pipe.send({**found, "torch": torch.get_num_threads(), "between": torch.get_num_interop_threads()})


def faults_of_steps(pipe):
    """Pages that the system has to bring while the same 40 MB are taken and given back 20 times, before and after."""
    import resource

    import numpy as np

    def step() -> None:
        taken = [np.full(2**18, 1.0, np.float32) for _ in range(40)]
        assert len(taken) == 40

    for keeps in (False, True):
        told = keep_freed_memory() if keeps else None
        step()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            step()
        pipe.send((told, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_a_worker_keeps_what_its_steps_free():
    helper = start_helper(faults_of_steps, name="a test")
    (_, given_back), (told, kept) = helper.pipe.recv(), helper.pipe.recv()
    helper.process.join()
    assert told is True
    assert kept < 0.05 * given_back


def test_a_workers_libraries_are_loaded_without_spinning_and_without_threads_of_their_own(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = dict(os.environ)
    for place in ("here", "there", None):  # the second time, the server they come from is there already
        monkeypatch.setenv("EINSTELLUNG_DATA", place) if place else monkeypatch.delenv("EINSTELLUNG_DATA")
        helper = start_helper(tell_all, name="a test")
        found = helper.pipe.recv()
        assert [found[name] for name in SEEN] == ["passive", "1", "1", "1", place]
        assert (found["torch"], found["between"]) == (1, 1)
        helper.pipe.send(2)
        found = helper.pipe.recv()
        assert (found["torch"], found["OMP_NUM_THREADS"], found["OPENBLAS_NUM_THREADS"]) == (2, "2", "1")
        helper.end()
        assert not helper.process.is_alive()
    assert {**os.environ, "EINSTELLUNG_DATA": None} == {**before, "EINSTELLUNG_DATA": None}


@pytest.fixture
def started(monkeypatch):
    """The names of the workers that were started."""
    names: list[str] = []

    def starting(*arguments, name):
        names.append(name)
        return start_helper(*arguments, name=name)

    monkeypatch.setattr(local, "start_helper", starting)
    return names


def test_a_worker_takes_one_job_after_the_other_and_each_as_if_it_were_the_first(small_config, tmp_path, started):
    study(small_config, tmp_path / "kept", **TINY)
    assert len(started) == 1
    for method in ("scratch_t2", "sgd"):
        study(small_config, tmp_path / "apart", **{**TINY, "methods": [method]})
    assert results(tmp_path / "kept") == results(tmp_path / "apart")


OWN = """
from einstellung.learners import learners
from einstellung.learners.sgd import FineTuning

@learners.register("forgetful")
class Forgetful(FineTuning):
    runs = []

    def begin_phase(self, phase):
        super().begin_phase(phase)
        self.runs.append(phase.name)
        if len(self.runs) > 2:
            raise RuntimeError(f"kept from another run: {self.runs}")
"""


def test_code_that_is_not_ours_gets_a_fresh_process_for_every_job(small_config, tmp_path, started):
    plugin = tmp_path / "own.py"
    plugin.write_text(OWN)
    own = {**TINY, "plugins": [str(plugin)], "methods": ["scratch_t2", "forgetful"], "seeds": [1]}
    outcome = study(small_config, tmp_path / "out", **own)
    assert not outcome.failures
    assert len(started) == 3


def test_workers_are_timed_at_once_and_say_why_they_cannot_be():
    config = resolve(build_config(merged(SMALL, TINY)))
    with Crew(config) as crew:
        alone = crew.timed(threads=1, workers=1, budget=0.05)
        both = crew.timed(threads=1, workers=2, budget=0.05)
        ended = [helper.process for helper in crew._helpers]
    assert alone.pace.training > 0
    assert both.pace.evaluation > 0
    assert 2**20 < both.memory < 2**32
    assert len(ended) == 2
    assert not any(process.is_alive() for process in ended)
    with Crew(config) as crew:
        crew.timed(threads=1, workers=1, budget=0.05)
        crew._helpers[0].process.kill()
        crew._helpers[0].process.join()
        with pytest.raises(TrialFailedError, match="ended while it was timed"):
            crew.timed(threads=1, workers=1, budget=0.05)
    unknown = config.model_copy(update={"stream": config.stream.model_copy(update={"name": "nothing"})})
    with Crew(unknown) as crew, pytest.raises(TrialFailedError, match="could not be timed: InputError: unknown stream"):
        crew.timed(threads=1, workers=1, budget=0.05)
