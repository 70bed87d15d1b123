"""From a configuration to the jobs of a study: which runs, which first phases, and who shares them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from einstellung.backbones import backbones
from einstellung.backbones.weights import weights_digest
from einstellung.cues import covers, cues
from einstellung.experiments.plugins import plugins_behind
from einstellung.files import digest
from einstellung.learners import Composition, Methods, Stage
from einstellung.results.config import StudyConfig
from einstellung.streams import Stream, streams


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


def plan(config: StudyConfig, stream: Stream, first_phases: str = "first_phases") -> list[Job]:
    """Every job of a resolved configuration, first phases before the runs that need them, seeds in the outer order.

    ``first_phases`` is where first phases lie, relative to the results folder: several studies may share a place.
    """
    return list(_jobs(config, stream, first_phases))


def methods_of(config: StudyConfig) -> Methods:
    """The learners that a study can name, its own combinations included."""
    compositions = {name: Composition(made.kind, made.names) for name, made in config.combinations.items()}
    return Methods(compositions, config.training.batch_size)


def _jobs(config: StudyConfig, stream: Stream, first_phases: str) -> Iterator[Job]:
    sizes = [len(phase.train) for phase in stream.phases]
    methods = methods_of(config)
    planned: set[str] = set()
    for seed in config.seeds:
        runs = []
        for method in config.methods:
            kind, given = methods[method], config.learners[method]
            options = methods.options(method, given)
            needs = None
            alone = kind.skips_history or len(sizes) == 1
            if not alone:
                shared = kind.shares_first_phase(options)
                trainer = "sgd" if shared else method
                shape = _first_phase_shape(config, stream, trainer, {} if shared else given, seed)
                key = digest({"first_phase": shape})
                needs = f"{first_phases}/{trainer}-seed{seed}-{key[:8]}"
                if needs not in planned:
                    planned.add(needs)
                    yield Job("first_phase", trainer, seed, needs, key, None, phase_work(config, trainer, sizes, 0))
            rest = range(len(sizes) - 1 if alone else 1, len(sizes))
            work = sum(phase_work(config, method, sizes, number) for number in rest)
            if needs is not None:
                work += sum(kind.workload.closing_cost(options, size) for size in sizes[:-1])
            key = digest({"run": _shape(config, stream, method, given, seed)})
            runs.append(Job("run", method, seed, f"runs/{method}-seed{seed}", key, needs, work))
        yield from runs


def phase_work(config: StudyConfig, method: str, sizes: Sequence[int], number: int) -> float:
    """The size of a phase of a run, in images of plain training."""
    methods, batch_size = methods_of(config), config.training.batch_size
    options, workload = methods.options(method, config.learners.get(method, {})), methods[method].workload
    return sizes[number] * sum(
        stage.passes
        * workload.share(options, sizes, number, stage.name)
        * workload.price(options, sizes, number, batch_size, stage.name)
        for stage in stages(config, method, sizes, number)
    )


def stages(config: StudyConfig, method: str, sizes: Sequence[int], number: int) -> tuple[Stage, ...]:
    """The stages of phase ``number`` of a method's runs."""
    methods = methods_of(config)
    options = methods.options(method, config.learners.get(method, {}))
    return methods[method].stages(options, sizes, config.training.epochs, number)


def _first_phase_shape(
    config: StudyConfig, stream: Stream, trainer: str, options: dict[str, Any], seed: int
) -> dict[str, Any]:
    """All that shapes a first phase: its own epochs only, and no cue where it neither learns nor is measured with one."""
    shape = _shape(config, stream, trainer, options, seed)
    shape["training"] |= {"epochs": config.training.epochs[:1], "milestones": config.training.milestones_of(0)}
    if config.cue is None:
        return shape
    cue_unseen = config.evaluation.first_phase == "own" and config.attention is None
    if not stream.phases[0].cue_classes and cue_unseen:
        del shape["cue"], shape["cover"]
    return shape


def _shape(config: StudyConfig, stream: Stream, method: str, options: dict[str, Any], seed: int) -> dict[str, Any]:
    whole = config.model_dump(mode="json")
    shape = {key: whole[key] for key in ("stream", "cue", "cover", "backbone", "training", "evaluation")}
    if "content" in stream.facts:  # what is in the user's own files, not where they lie
        places = {key: None for key in ("path", "rules", "perception", "backend") if key in shape["stream"]}
        shape["stream"] = {**shape["stream"], **places, "content": stream.facts["content"]}
        shape["stream"].pop("boxes", None)  # part of the content
    if config.attention is not None:
        # any plug-in may hold the adapter by which attention is found
        shape["attention"] = {**whole["attention"], "plugins": sorted(str(one.sha256) for one in config.plugins)}
    if weights := config.backbone.options.get("weights"):
        shape["backbone"] = {
            **shape["backbone"],
            "weights": weights_digest(weights),
        }  # what is in it, not where it lies
    if plugins := plugins_behind(named_in(config, method)):
        shape["plugins"] = plugins
    if (meaning := methods_of(config).spelled_out(method)) != method:
        shape["composition"] = meaning
    return {**shape, "method": method, "options": options, "seed": seed}


def named_in(config: StudyConfig, method: str) -> list[Any]:
    """The registered things that a run is made of."""
    named: list[Any] = [
        *methods_of(config).registered(method),
        streams[config.stream.name],
        backbones[config.backbone.name],
    ]
    if config.cue is not None and config.cover is not None:
        named += [cues[config.cue.name], covers[config.cover]]
    return named
