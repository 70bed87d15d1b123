"""The local launcher: which jobs share a worker process."""

from __future__ import annotations

import pytest

from einstellung.experiments.launchers import local
from einstellung.experiments.processes import start_worker
from tests.experiments.conftest import results, study

TINY = {"stream": {"size": 8}, "training": {"epochs": [1, 1]}, "methods": ["scratch_t2", "sgd"]}


@pytest.fixture
def started(monkeypatch):
    """The names of the workers that were started."""
    names: list[str] = []

    def starting(*arguments, name):
        names.append(name)
        return start_worker(*arguments, name=name)

    monkeypatch.setattr(local, "start_worker", starting)
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
