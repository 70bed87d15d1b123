"""The cost of everything around the net: reading, augmentation, cue, normalisation, evaluation, checkpoints, tables.

On drawn images of CIFAR-100's size and number: an epoch of T2 has 9,000 images, T1 has 4,000 test images, every other split
1,000. Shares are of the time on one thread.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from benchmarks.learners import BATCH, Setting
from benchmarks.measuring import Spread, interleaved, ratios, row
from einstellung.cues import PatchCue
from einstellung.experiments.assembly import build_learner
from einstellung.files import write_text
from einstellung.learners import Batch, Learner
from einstellung.modalities import crop_and_flip
from einstellung.randomness import generator
from einstellung.streams import Stream, shapes
from einstellung.timeline import Timeline
from einstellung.training import Evaluator
from einstellung.training.checkpoint import save_state
from einstellung.training.devices import torch_threads

NEEDED = ("T2_shortcut_normal", "T2_shortcut_masked", "T2_val")
EPOCH_IMAGES = 9_000
SPLIT_IMAGES = {"T1_all": 4_000}  # the others hold 1,000 each
EPOCHS = 50  # of the phase whose tables are written
DATA_TIMES = 20  # batches at a time where no net is involved, so that a measurement is long enough for the clock
PARTS = {
    "data": "reading, augmentation, cue and normalisation together",
    "reading": "reading alone",
    "augmentation": "augmentation alone",
    "cue": "cue alone",
    "normalisation": "normalisation alone",
}


@dataclass(frozen=True)
class Size:
    """A net, how many of its steps are a piece of work, how often it is measured, and what share the data may have."""

    width: int
    steps: int
    repeats: int
    percent: int


SHORT = (Size(64, 1, 3, 3), Size(8, 10, 3, 10))
LONG = (Size(64, 2, 5, 3), Size(16, 20, 7, 10), Size(8, 40, 7, 10))


def measure(short: bool) -> dict[str, Any]:
    rows, seconds = [], {}
    stream = shapes(PatchCue(), train_per_class=20, test_per_class=10)
    with torch_threads(1), tempfile.TemporaryDirectory() as folder:
        for size in SHORT if short else LONG:
            took = costs(stream, size, Path(folder))
            seconds[str(size.width)] = took
            rows += size_rows(stream, size, took)
    return {"rows": rows, "core_seconds": seconds}


def costs(stream: Stream, size: Size, folder: Path) -> dict[str, list[float]]:
    """Core-seconds of a batch's data and their parts, of a step, of an evaluated image, of a checkpoint, of a run's tables."""
    config = Setting("sgd", size.width).config()
    learner = build_learner(config, "sgd", 1, stream)
    learner.begin_phase(stream.phases[-1])
    learner.training_mode()
    evaluator = Evaluator(stream, learner.context.presentation, learner.context.autocast)
    evaluated = sum(len(stream.split(name).images) for name in NEEDED)
    parts, step = batch_works(learner, stream)
    works: dict[str, Callable[[], object]] = {name: _times(work, DATA_TIMES) for name, work in parts.items()}
    works["step"] = _times(step, size.steps)
    works["image"] = lambda: evaluator.measure(learner.net, NEEDED)
    works["checkpoint"] = lambda: write_checkpoint(learner, folder)
    works["tables"] = lambda: write_tables(stream, folder)
    units = {**dict.fromkeys(parts, DATA_TIMES), "step": size.steps, "image": evaluated, "checkpoint": 1, "tables": 1}
    took = interleaved(works, size.repeats)
    return {name: [one / units[name] for one in values] for name, values in took.items()}


def batch_works(learner: Learner, stream: Stream) -> tuple[dict[str, Callable[[], object]], Callable[[], object]]:
    """The processing of a batch, whole and in parts, and a whole step."""
    train, shown = stream.phases[-1].train, learner.context.presentation
    draws = generator(1, "benchmark")
    some = train.take(torch.arange(0, len(train), len(train) // BATCH)[:BATCH])

    def rows() -> torch.Tensor:
        return torch.randint(len(train), (BATCH,), generator=draws)

    def batch() -> Batch:
        raw = train.take(rows())
        return Batch(shown.training(raw, draws, draws), raw.labels, raw)

    parts: dict[str, Callable[[], object]] = {
        "data": batch,
        "reading": lambda: train.take(rows()),
        "augmentation": lambda: crop_and_flip(some.images, stream.crop_padding, stream.flip, draws),
        "cue": lambda: shown.painted(some.images, some, draws),
        "normalisation": lambda: shown.normalised(some.images),
    }
    return parts, lambda: learner.observe(batch())


def write_checkpoint(learner: Learner, folder: Path) -> None:
    """The files written after every epoch: the net, the optimiser, the best weights so far."""
    assert learner.optimiser is not None
    net = learner.net.state_dict()
    best = {name: value.clone() for name, value in net.items()}
    momentum = {str(number): state for number, state in learner.optimiser.state_dict()["state"].items()}
    state = {"net": net, "learner": learner.state_dict(), "optimiser": momentum, "best": {"net": best}}
    save_state(folder / "checkpoint.safetensors", state)


def write_tables(stream: Stream, folder: Path) -> None:
    """The files written at the end of a run: a row per split and epoch, and the prediction for every image."""
    splits = [split.name for split in stream.splits]
    grid = pd.MultiIndex.from_product([range(1, EPOCHS + 1), splits], names=["epoch", "split"]).to_frame(index=False)
    Timeline(grid.assign(method="sgd", seed=1, phase="T2", acc=0.5, loss=1.0, n=500)).write(folder / "timeline.csv")
    images = _all_images(splits)
    said = pd.DataFrame({"split": "T1_all", "index": range(images), "label": 1, "prediction": 2})
    write_text(folder / "predictions.csv", said.to_csv(index=False))


def size_rows(stream: Stream, size: Size, took: Mapping[str, list[float]]) -> list[dict[str, Any]]:
    training = Setting("sgd", size.width).config().training
    net = f"ResNet-18 width {size.width}, batches of {BATCH}, {training.precision}, {training.kernels} kernels"
    epoch = [EPOCH_IMAGES / BATCH * one for one in took["step"]]

    def share(name: str, times: float, of: list[float]) -> Spread:
        return ratios([100 * times * one for one in took[name]], of)

    def line(what: str, percent: Spread, most: float | None = None) -> dict[str, Any]:
        aim = (f"under {most} %", percent.median < most) if most else ()
        return row(f"{net}: {what}", percent.words(2, "%"), *aim)

    rows = [
        line(f"{words} / whole step", share(name, 1, took["step"]), size.percent if name == "data" else None)
        for name, words in PARTS.items()
    ]
    splits = [split.name for split in stream.splits]
    every = _all_images(splits)
    return [
        *rows,
        line("evaluating SC patched, SC masked and validation / epoch of T2", share("image", 3_000, epoch), 15),
        line(f"evaluating all {len(splits)} splits ({every:,} images) / epoch of T2", share("image", every, epoch), 45),
        line("writing a checkpoint / epoch of T2", share("checkpoint", 1, epoch)),
        line(f"writing a run's tables of {EPOCHS} epochs / epoch of T2", share("tables", 1, epoch)),
    ]


def _all_images(splits: list[str]) -> int:
    return sum(SPLIT_IMAGES.get(name, 1_000) for name in splits)


def _times(work: Callable[[], object], times: int) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(times):
            work()

    return repeated
