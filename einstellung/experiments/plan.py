"""From a configuration to the jobs of a study: which runs, which first phases, and which runs share them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from einstellung.backbones import backbones
from einstellung.backbones.weights import weights_digest
from einstellung.cues import covers, cues
from einstellung.cues.covers import FROM_AUDIT
from einstellung.experiments.plugins import plugins_behind
from einstellung.files import digest
from einstellung.learners import Composition, Methods, Stage
from einstellung.results.config import StudyConfig
from einstellung.streams import Stream, streams


@dataclass(frozen=True)
class Job:
    """A unit of work for one process: a first phase, or the rest of a run (the whole run if it has no history).

    ``key`` is a hash of everything that affects the result, including the seed; ``work`` is its size in plain training samples.
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

    ``first_phases`` is the folder of first phases, relative to the results folder; several studies may share one.
    """
    return list(_jobs(config, stream, first_phases))


def methods_of(config: StudyConfig) -> Methods:
    """The methods that a study can name, including its own combinations."""
    compositions = {name: Composition(made.kind, made.names) for name, made in config.combinations.items()}
    return Methods(compositions, config.training.batch_size)


@dataclass(frozen=True)
class _Planned:
    """What the runs of a method have in common: all but the seed. ``trainer``: of its first phase; None without one."""

    method: str
    shape: dict[str, Any]
    work: float
    trainer: str | None = None
    first_shape: dict[str, Any] | None = None
    first_work: float = 0.0


def _jobs(config: StudyConfig, stream: Stream, first_phases: str) -> Iterator[Job]:
    sizes = [len(phase.train) for phase in stream.phases]
    described = [_described(config, stream, method, sizes) for method in config.methods]
    for seed in config.seeds:
        planned, runs = set[str](), []
        for one in described:
            needs = None
            if one.trainer is not None:
                key = digest({"first_phase": {**(one.first_shape or {}), "seed": seed}})
                needs = f"{first_phases}/{one.trainer}-seed{seed}-{key[:8]}"
                if needs not in planned:
                    planned.add(needs)
                    yield Job("first_phase", one.trainer, seed, needs, key, None, one.first_work)
            key = digest({"run": {**one.shape, "seed": seed}})
            runs.append(Job("run", one.method, seed, f"runs/{one.method}-seed{seed}", key, needs, one.work))
        yield from runs


def _described(config: StudyConfig, stream: Stream, method: str, sizes: Sequence[int]) -> _Planned:
    methods = methods_of(config)
    kind, given = methods[method], config.learners[method]
    options = methods.options(method, given)
    shape = _shape(config, stream, method, given)
    alone = kind.skips_history or len(sizes) == 1
    rest = range(len(sizes) - 1 if alone else 1, len(sizes))
    work = sum(phase_work(config, method, sizes, number) for number in rest)
    if alone:
        return _Planned(method, shape, work)
    shared = kind.shares_first_phase(options)
    trainer = "sgd" if shared else method
    first = _first_phase_shape(config, stream, trainer, {} if shared else given)
    work += sum(kind.workload.closing_cost(options, size) for size in sizes[:-1])
    return _Planned(method, shape, work, trainer, first, phase_work(config, trainer, sizes, 0))


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


def _first_phase_shape(config: StudyConfig, stream: Stream, trainer: str, options: dict[str, Any]) -> dict[str, Any]:
    """Everything but the seed that affects a first phase: its own epochs, and no cue that is neither trained nor measured."""
    shape = _shape(config, stream, trainer, options)
    shape["training"] |= {"epochs": config.training.epochs[:1], "milestones": config.training.milestones_of(0)}
    if config.cue is None:
        return shape
    cue_unseen = config.evaluation.first_phase == "own" and config.attention is None
    if not stream.phases[0].cue_classes and cue_unseen:
        del shape["cue"], shape["cover"]
    return shape


def _shape(config: StudyConfig, stream: Stream, method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Everything but the seed that affects a run."""
    whole = config.model_dump(mode="json")
    shape = {key: whole[key] for key in ("stream", "cue", "cover", "backbone", "training", "evaluation")}
    if "content" in stream.facts:  # the content of the user's files, not their paths
        places = {key: None for key in ("path", "rules", "perception", "backend") if key in shape["stream"]}
        shape["stream"] = {**shape["stream"], **places, "content": stream.facts["content"]}
    if config.cover == FROM_AUDIT:  # the boxes, not the path of the audit
        shape["cover"] = stream.facts["proxy"]
    if config.attention is not None:
        # any plug-in may define the adapter that finds attention
        shape["attention"] = {**whole["attention"], "plugins": sorted(str(one.sha256) for one in config.plugins)}
    if weights := config.backbone.options.get("weights"):
        shape["backbone"] = {
            **shape["backbone"],
            "weights": weights_digest(weights),
        }  # its content, not its path
    if plugins := plugins_behind(named_in(config, method)):
        shape["plugins"] = plugins
    if (meaning := methods_of(config).spelled_out(method)) != method:
        shape["composition"] = meaning
    return {**shape, "method": method, "options": options}


def named_in(config: StudyConfig, method: str) -> list[Any]:
    """The registered entries that a run uses."""
    named: list[Any] = [
        *methods_of(config).registered(method),
        streams[config.stream.name],
        backbones[config.backbone.name],
    ]
    if config.cue is not None and config.cover is not None:
        named += [cues[config.cue.name], covers[config.cover]]
    return named
