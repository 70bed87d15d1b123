"""The two sides that ``study`` compares: the same runs as one study of ours, and one by one as in a framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from einstellung.results.config import merged, read_preset

METHODS = ("scratch_t2", "sgd", "ewc_on", "derpp", "gpm", "dgr")
FORMS = ("within", "earlier")  # of derpp's replay: as its authors do it, and with a T1 that it shares with others
FRAMEWORK = {"precision": "fp32", "kernels": "torch", "layout": "contiguous"}
_CIFAR_PER_CLASS = 500


@dataclass(frozen=True)
class Comparison:
    """A preset's net, how long it is trained on how many images, and what is counted: ``core`` seconds or ``wall`` time.

    Seeds come in ``blocks``: a study of ours has all seeds of a block, and every block gives a ratio. A step is checked
    against a bare loop's on ``steps`` batches at a time, ``repeats`` times. ``changes`` are further settings, of both sides.
    """

    preset: str
    clock: str
    reach: float | None
    train_per_class: int
    test_per_class: int
    epochs: tuple[int, int]
    blocks: tuple[tuple[int, ...], ...]
    steps: int
    repeats: int
    methods: tuple[str, ...] = METHODS
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Piece:
    """The task of one process: a ``study`` of ours, or a single ``run``."""

    kind: str
    form: str
    values: dict[str, Any]

    def label(self, method: str) -> str:
        """The name of a method in a table; there are two variants of derpp."""
        return f"{method} (replay: {self.form})" if method == "derpp" else method

    def belongs_to(self, form: str) -> bool:
        """Whether it is part of the comparison with derpp in that form; runs of other methods are part of both."""
        return self.form == form or (self.kind == "run" and self.values["methods"] != ["derpp"])

    @property
    def words(self) -> str:
        if self.kind == "study":
            return f"our study, derpp with replay: {self.form}"
        return f"{self.label(self.values['methods'][0])} seed {self.values['seeds'][0]} by itself"


def pieces_of(comparison: Comparison, stream: str, seeds: tuple[int, ...], threads: int) -> list[Piece]:
    """The pieces of a block in the order in which they are done: half of the runs, a study, the other half, a study.

    ``threads`` are those of a run by itself; a worker of ours has one.
    """
    within, earlier = (
        Piece("study", form, configured(comparison, stream, form, {"seeds": list(seeds), "training": {"threads": 1}}))
        for form in FORMS
    )
    runs = [
        Piece("run", form, configured(comparison, stream, form, by_itself(method, seed, threads)))
        for seed in seeds
        for form in FORMS
        for method in comparison.methods
        if form == "within" or method == "derpp"
    ]
    return [*runs[::2], within, *runs[1::2], earlier]


def by_itself(method: str, seed: int, threads: int) -> dict[str, Any]:
    """The settings with which a framework would train it."""
    return {"methods": [method], "seeds": [seed], "training": {**FRAMEWORK, "threads": threads}}


def configured(comparison: Comparison, stream: str, form: str, change: Mapping[str, Any]) -> dict[str, Any]:
    """The preset with fewer images and epochs; work done once per run is reduced too, so that its share stays the same."""
    preset = read_preset(comparison.preset)
    whole, mine = preset["training"]["epochs"], comparison.epochs
    share = comparison.train_per_class * mine[0] / (_CIFAR_PER_CLASS * whole[0])
    milestones = preset["training"]["milestones"]
    by_phase = milestones if isinstance(milestones[0], list) else [milestones] * len(mine)
    values = merged(
        preset,
        {
            "stream": {
                "name": stream,
                "train_per_class": comparison.train_per_class,
                "test_per_class": comparison.test_per_class,
            },
            "training": {
                "epochs": list(mine),
                "milestones": [
                    sorted({max(1, round(milestone * few / many)) for milestone in own})
                    for own, few, many in zip(by_phase, mine, whole, strict=True)
                ],
            },
            "methods": list(comparison.methods),
            "learners": {
                # all of T1's images; a small weight, because those of the presets may diverge after so few steps
                "ewc_on": {"fisher_images": max(16, round(20_000 * share)), "e_lambda": 1},
                "gpm": {"samples": max(16, round(512 * share))},
                "dgr": {"generator_epochs": max(1, round(10 * mine[0] / whole[0]))},
                "derpp": {"replay": form},
            },
        },
    )
    return merged(merged(values, comparison.changes), change)


def counted(number: int, what: str) -> str:
    """
    >>> counted(1, "thread"), counted(2, "thread")
    ('1 thread', '2 threads')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"
