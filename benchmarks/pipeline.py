"""What everything around the net costs: reading, augmentation, cue and normalisation per step; evaluation per epoch.

On images of CIFAR-100's size and numbers (drawn, so that no data set is needed): T1 4,000 test images, T2 9,000 for training.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from einstellung.cues import PatchCue
from einstellung.experiments.assembly import build_learner
from einstellung.experiments.config import build_config
from einstellung.learners import Batch
from einstellung.randomness import generator
from einstellung.streams import Stream, shapes
from einstellung.training import Evaluator
from einstellung.training.precision import Precision

BATCH = 32
NEEDED = ("T2_shortcut_normal", "T2_shortcut_masked", "T2_val")
EPOCH_IMAGES = 9_000
SPLIT_IMAGES = {"T1_all": 4_000}  # the others hold 1,000 each


def measure() -> dict[str, Any]:
    torch.set_num_threads(1)
    stream = shapes(PatchCue(), train_per_class=60, test_per_class=25)
    precision = Precision.resolve("auto", "cpu").name
    rows = []
    for width, steps, repeats, reach in ((64, 3, 5, 3), (16, 20, 7, 10), (8, 40, 7, 10)):
        data, step, image = shares(stream, width, steps, repeats)
        name = f"ResNet-18 width {width}, batches of {BATCH}, 1 thread, {precision}"
        share = [100 * one / two for one, two in zip(data, step, strict=True)]
        rows.append(_row(f"{name}: reading, cue, augmentation, normalisation / whole step", share, f"under {reach} %"))
        epoch = [EPOCH_IMAGES / BATCH * one for one in step]
        three = [100 * 3_000 * one / two for one, two in zip(image, epoch, strict=True)]
        every = sum(SPLIT_IMAGES.get(split.name, 1_000) for split in stream.splits)
        all_of_them = [100 * every * one / two for one, two in zip(image, epoch, strict=True)]
        rows.append(_row(f"{name}: evaluating SC patched, SC masked and validation / epoch of T2", three, "under 15 %"))
        rows.append(
            _row(
                f"{name}: evaluating all {len(stream.splits)} splits ({every:,} images) / epoch of T2",
                all_of_them,
                "under 45 %",
            )
        )
    return {"rows": rows}


def shares(stream: Stream, width: int, steps: int, repeats: int) -> tuple[list[float], list[float], list[float]]:
    """Seconds per step for the data alone, per whole step, and per evaluated image, each measured in turn ``repeats`` times."""
    config = build_config({"backbone": {"name": "resnet18", "width": width}, "training": {"batch_size": BATCH}})
    learner = build_learner(config, "sgd", 1, stream)
    phase, presentation = stream.phases[-1], learner.context.presentation
    learner.begin_phase(phase)
    learner.training_mode()
    draws = generator(1, "benchmark")
    evaluator = Evaluator(stream, presentation, learner.context.autocast)

    def batch() -> Batch:
        raw = phase.train.take(torch.randint(len(phase.train), (BATCH,), generator=draws))
        return Batch(presentation.training(raw, draws, draws), raw.labels, raw)

    def evaluate() -> None:
        evaluator.measure(learner.net, NEEDED)

    evaluated = sum(len(stream.split(name).images) for name in NEEDED)
    learner.observe(batch())
    evaluate()
    data, step, image = [], [], []
    for _ in range(repeats):
        data.append(_seconds(batch, 20 * steps))
        step.append(_seconds(lambda: learner.observe(batch()), steps))
        image.append(_seconds(evaluate, 1) / evaluated)
    return data, step, image


def _seconds(work: Callable[[], object], times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - begin) / times


def _row(what: str, percent: list[float], reach: str) -> dict[str, str]:
    spread = f"{min(percent):.1f} to {max(percent):.1f}, {len(percent)} times"
    return {"what": what, "measured": f"{statistics.median(percent):.1f} % ({spread})", "reach": reach}
