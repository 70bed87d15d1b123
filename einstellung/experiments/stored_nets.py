"""The nets that the runs of a results folder stored, loaded for probes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, without_compilation
from einstellung.learners import Learner
from einstellung.learners.combined import use_final_architecture
from einstellung.probes.nets.subject import ProbedNet
from einstellung.results.config import StudyConfig
from einstellung.results.folder import is_plain, read_status, require_whole
from einstellung.results.probe_files import Checkpoint
from einstellung.results.run_files import CHOSEN_NET, LAST_NET, read_prediction_file, run_folder
from einstellung.results.sweep import FIRST_PHASES, SHARED_FIRST_PHASES
from einstellung.streams import Stream
from einstellung.timeline import Run
from einstellung.training.checkpoint import load_state


@dataclass(frozen=True)
class StoredRun:
    """A finished run with its net: the key of its training, and the folder of its first phase (None: it has none)."""

    method: str
    seed: int
    key: str
    folder: Path
    first_phase: Path | None


def stored_runs(root: Path, config: StudyConfig, checkpoint: Checkpoint) -> list[StoredRun]:
    """The finished runs that stored a net, seed by seed, in the order of the configuration."""
    return list(_stored(root, [(method, seed) for seed in config.seeds for method in config.methods], checkpoint))


def _stored(root: Path, runs: Sequence[Run], checkpoint: Checkpoint) -> Iterator[StoredRun]:
    for method, seed in runs:
        folder = run_folder(root, (method, seed))
        if not (folder / "status.json").exists() or not (folder / _file(checkpoint)).exists():
            continue
        status = read_status(folder) or {}
        if status.get("state") == "finished":
            yield StoredRun(method, seed, str(status["key"]), folder, _first_phase(root, status.get("first_phase")))


def _first_phase(root: Path, named: Any) -> Path | None:
    """The folder of a first phase: below the study's, or below the one that the studies of a sweep share."""
    if not named:
        return None
    above, _, name = str(named).rpartition("/")
    if above not in (FIRST_PHASES, SHARED_FIRST_PHASES) or not is_plain(name):
        raise InputError(f"a run in {root} names '{named}' as its first phase, which is not a folder of first phases")
    return root / above / name


def _file(checkpoint: Checkpoint) -> str:
    return LAST_NET if checkpoint == "last" else CHOSEN_NET


class NetLoader:
    """Rebuilds nets from a configuration and loads what the runs stored into them."""

    def __init__(self, config: StudyConfig, stream: Stream, checkpoint: Checkpoint) -> None:
        # hooks do not fire in compiled code and keep our kernels from fusing layers
        self.config, self.stream, self.checkpoint = without_compilation(config), stream, checkpoint

    def final(self, run: StoredRun) -> ProbedNet:
        """The final net of the run, and its predictions if they are stored."""
        learner = self._learner(run)
        use_final_architecture(learner)
        file = run.folder / _file(self.checkpoint)
        require_whole(file)
        _load(learner.net, load_state(file), file)
        name = "predictions_last.csv" if self.checkpoint == "last" else "predictions.csv"
        try:
            predictions = read_prediction_file(run.folder / name)
        except InputError:
            predictions = None  # computed from the net
        return self._probed(learner, predictions)

    def first(self, run: StoredRun) -> ProbedNet | None:
        """The net after T1; None if the run has no history or the state of its first phase was deleted."""
        if run.first_phase is None or not (file := run.first_phase / "state.safetensors").exists():
            return None
        require_whole(file)
        learner = self._learner(run)
        _load(learner.net, load_state(file)["net"], file)
        return self._probed(learner)

    def fresh(self, run: StoredRun) -> ProbedNet:
        """The net as it was initialised."""
        return self._probed(self._learner(run))

    def _learner(self, run: StoredRun) -> Learner:
        return build_learner(self.config, run.method, run.seed, self.stream)

    def _probed(self, learner: Learner, predictions: Any = None) -> ProbedNet:
        context, batch_size = learner.context, self.config.evaluation.batch_size
        return ProbedNet(learner.net, self.stream, context.presentation, context.autocast, batch_size, predictions)


def _load(net: nn.Module, state: Any, file: Path) -> None:
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{file} does not fit the configured net: {reason}") from None
