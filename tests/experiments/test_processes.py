"""Worker processes: their environment and their memory."""

from __future__ import annotations

import os
import platform
import sys
from itertools import chain
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import pytest

from einstellung.experiments.processes import keep_freed_memory, messages, start_worker, use_threads

SEEN = ("OMP_WAIT_POLICY", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "EINSTELLUNG_DATA")


def send_environment(pipe):
    """The environment of a worker, before and after it sets its number of threads."""
    import torch

    for threads in chain([None], messages(pipe)):
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
        applied = keep_freed_memory() if keeps else None
        step()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            step()
        pipe.send((applied, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_a_worker_keeps_what_its_steps_free():
    worker = start_worker(faults_of_steps, name="a test")
    (_, given_back), (applied, kept) = worker.pipe.recv(), worker.pipe.recv()
    worker.process.join()
    assert applied is True
    assert kept < 0.05 * given_back


def test_a_workers_libraries_are_loaded_without_spinning_and_without_threads_of_their_own(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = dict(os.environ)
    for place in ("here", "there", None):  # the second time, the server they come from is there already
        monkeypatch.setenv("EINSTELLUNG_DATA", place) if place else monkeypatch.delenv("EINSTELLUNG_DATA")
        worker = start_worker(send_environment, name="a test")
        found = worker.pipe.recv()
        assert [found[name] for name in SEEN] == ["passive", "1", "1", "1", place]
        assert (found["torch"], found["between"]) == (1, 1)
        worker.pipe.send(2)
        found = worker.pipe.recv()
        assert (found["torch"], found["OMP_NUM_THREADS"], found["OPENBLAS_NUM_THREADS"]) == (2, "2", "1")
        worker.stop()
        assert not worker.process.is_alive()
    assert {**os.environ, "EINSTELLUNG_DATA": None} == {**before, "EINSTELLUNG_DATA": None}


def test_a_worker_does_not_import_the_caller_s_script(monkeypatch):
    """A new process runs the main module again, unless it cannot find one."""
    seen = []
    main = sys.modules["__main__"]
    start = BaseProcess.start

    def noting(process):
        seen.append(getattr(sys.modules["__main__"], "__file__", None))
        return start(process)

    monkeypatch.setattr(BaseProcess, "start", noting)
    worker = start_worker(_nothing, name="nothing")
    worker.close()
    assert seen == [None]
    assert sys.modules["__main__"] is main


def _nothing(pipe: Connection) -> None:
    """Ends at once."""
