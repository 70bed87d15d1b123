"""From a configuration to the jobs of a study: which runs, which first phases, and who shares them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from einstellung.experiments.config import StudyConfig
from einstellung.files import digest
from einstellung.learners import learners
from einstellung.streams import Stream


@dataclass(frozen=True)
class Job:
    """One process's worth of work: a first phase, or the rest of a run (all of it where it has no history).

    ``key`` is the hash of all that shapes the result, the seed included; ``work`` its size in plain training samples.
    """

    kind: str
    method: str
    seed: int
    folder: str
    key: str
    needs: str | None
    work: float

    @property
    def label(self) -> str:
        return f"{self.method} seed {self.seed}" + (" T1" if self.kind == "first_phase" else "")


def plan(config: StudyConfig, stream: Stream) -> list[Job]:
    """Every job of a resolved configuration, first phases before the runs that need them, seeds in the outer order."""
    return list(_jobs(config, stream))


def _jobs(config: StudyConfig, stream: Stream) -> Iterator[Job]:
    sizes = [len(phase.train) * epochs for phase, epochs in zip(stream.phases, config.training.epochs, strict=True)]
    planned: set[str] = set()
    for seed in config.seeds:
        runs = []
        for method in config.methods:
            kind = learners[method]
            options = config.learners[method]
            needs = None
            if not kind.skips_history:
                trainer = "sgd" if kind.plain_history else method
                shape = _shape(config, trainer, {} if kind.plain_history else options, seed)
                shape["training"]["epochs"] = shape["training"]["epochs"][:1]
                key = digest({"first_phase": shape})
                needs = f"first_phases/{trainer}-seed{seed}-{key[:8]}"
                if needs not in planned:
                    planned.add(needs)
                    cost = learners[trainer].cost * sizes[0]
                    yield Job("first_phase", trainer, seed, needs, key, None, cost)
            work = kind.cost * (sizes[-1] if kind.skips_history else sum(sizes[1:]))
            key = digest({"run": _shape(config, method, options, seed)})
            runs.append(Job("run", method, seed, f"runs/{method}-seed{seed}", key, needs, work))
        yield from runs


def _shape(config: StudyConfig, method: str, options: dict[str, Any], seed: int) -> dict[str, Any]:
    whole = config.model_dump(mode="json")
    shape = {key: whole[key] for key in ("stream", "cue", "cover", "backbone", "training", "evaluation")}
    return {**shape, "method": method, "options": options, "seed": seed}
