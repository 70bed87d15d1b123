"""The guide's command, typed into this very process, on a stream and a net that take no time."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass

import pytest

from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.experiments.launchers.local import LocalLauncher
from einstellung.guide.command import main
from tests.experiments.in_process import InProcessLauncher

TINY = (
    "--set=stream={name: shapes, size: 8, train_per_class: 8, test_per_class: 2}",
    "--set=backbone.width=8",
    "--set=training.batch_size=16",
    "--set=training.precision=fp32",
    "--epochs=1,2",
    "--workers=1",
)


@dataclass(frozen=True)
class Said:
    """What a command left behind on the terminal."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line of a command that was refused."""
        lines = self.err.strip().splitlines()
        assert self.code == 2, self.err
        return lines[-1].removeprefix("run_einstellung_experiment: ")


def run_command(*words: object) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    return Said(int(stopped.value.code or 0), out.getvalue(), err.getvalue())


def leave_figures_out(patch: pytest.MonkeyPatch) -> None:
    """Figures take seconds and are looked at elsewhere."""

    patch.setattr(Rigidity, "figures", lambda self, evidence, card: ())


def run_jobs_here(patch: pytest.MonkeyPatch) -> None:
    """Jobs one after the other in this very process: starting others takes longer than such small runs."""

    patch.setattr(LocalLauncher, "run", InProcessLauncher.run)


@pytest.fixture
def without_figures(monkeypatch):
    leave_figures_out(monkeypatch)


@pytest.fixture
def in_process(monkeypatch):
    run_jobs_here(monkeypatch)
