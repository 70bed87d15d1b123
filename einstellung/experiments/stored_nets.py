"""The nets of a results folder, as its runs stored them, ready to be probed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, without_compilation
from einstellung.files import read_json
from einstellung.learners import Learner
from einstellung.learners.combined import use_final_architecture
from einstellung.probes.nets.subject import ProbedNet
from einstellung.results.config import StudyConfig
from einstellung.results.probe_files import Checkpoint
from einstellung.results.run_files import CHOSEN_NET, LAST_NET, read_prediction_file, run_folder
from einstellung.streams import Stream
from einstellung.timeline import Run
from einstellung.training.checkpoint import load_state


@dataclass(frozen=True)
class StoredRun:
    """A finished run with its net: the key of its training, and where its first phase lies (None: it has none)."""

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
        status = read_json(folder / "status.json")
        if status.get("state") == "finished":
            first = status.get("first_phase")
            yield StoredRun(method, seed, str(status["key"]), folder, root / first if first else None)


def _file(checkpoint: Checkpoint) -> str:
    return LAST_NET if checkpoint == "last" else CHOSEN_NET


class NetLoader:
    """Rebuilds nets from a configuration and loads what the runs stored into them."""

    def __init__(self, config: StudyConfig, stream: Stream, checkpoint: Checkpoint) -> None:
        # hooks do not fire in compiled code and keep our kernels from fusing layers
        self.config, self.stream, self.checkpoint = without_compilation(config), stream, checkpoint

    def final(self, run: StoredRun) -> ProbedNet:
        """The net that the run ended with, and its predictions where they are stored."""
        learner = self._learner(run)
        use_final_architecture(learner)
        _load(learner.net, load_state(run.folder / _file(self.checkpoint)), run.folder / _file(self.checkpoint))
        name = "predictions_last.csv" if self.checkpoint == "last" else "predictions.csv"
        try:
            predictions = read_prediction_file(run.folder / name)
        except InputError:
            predictions = None  # the net tells
        return self._probed(learner, predictions)

    def first(self, run: StoredRun) -> ProbedNet | None:
        """The net after T1; None where the run has no history, or the state of its first phase was deleted."""
        if run.first_phase is None or not (file := run.first_phase / "state.safetensors").exists():
            return None
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
        raise InputError(f"{file} does not fit the net of the configuration: {reason}") from None
