"""Pretrain perception on random scenes, and measure its accuracy on held-out ones.

``WEIGHTS.safetensors`` comes with ``WEIGHTS.json``: settings, learning curve and accuracy. During training,
``WEIGHTS.unfinished.safetensors`` holds the state after the last epoch, from which the same settings resume.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from einstellung.errors import InputError
from einstellung.files import digest, read_json, require_writable, write_bytes, write_json
from einstellung.perception.accuracy import perception_accuracy
from einstellung.perception.inference import Log, load_perception, outputs_of, perception_bytes
from einstellung.perception.random_scenes import AnnotatedScenes, load_random_scenes
from einstellung.perception.slot_attention import SlotOptions
from einstellung.perception.storage import load_tensors, tensor_bytes
from einstellung.perception.trainer import Trainer
from einstellung.scenes.attributes import ATTRIBUTES
from einstellung.scenes.progress import progress_logger
from einstellung.scenes.rendering import RENDERER_VERSION, resolve_backend

_VERSION = 1  # of the training procedure; part of the settings' key


@dataclass(frozen=True)
class Pretraining:
    """The settings of a training."""

    scenes: int = 20_000
    held_out: int = 2_000
    size: int = 64
    objects: int = 4
    epochs: int = 20
    batch_size: int = 32
    lr: float = 1e-3
    seed: int = 0
    backend: str = "auto"
    net: SlotOptions = field(default_factory=SlotOptions)

    def __post_init__(self) -> None:
        for name in ("scenes", "held_out", "size", "objects", "epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: give at least 1")
        if self.objects > self.net.slots:
            raise InputError(f"objects is {self.objects}, but there are only {self.net.slots} slots for them")

    def facts(self) -> dict[str, Any]:
        """All settings, with the renderer resolved on this machine."""
        net = asdict(self.net) | {"strides": list(self.net.strides)}  # as in JSON
        return asdict(self) | {"net": net, "backend": resolve_backend(self.backend), "renderer": RENDERER_VERSION}

    @property
    def key(self) -> str:
        """Equal for settings that give the same weights."""
        return digest([_VERSION, self.facts()])


def pretrain(out: Path, settings: Pretraining, workers: int = 1, log: Log = lambda _: None) -> dict[str, Any]:
    """Train weights into ``out``, resume an interrupted training, or keep existing weights; returns the record.

    ``workers`` processes render the scenes. The caller sets torch's threads; the record names them.
    """
    if out.suffix != ".safetensors":
        raise InputError(f"{out}: the file name must end in .safetensors")
    require_writable(out.parent)
    key = settings.key
    if out.exists():
        return _existing_record(out, key)
    unfinished = out.with_suffix(".unfinished.safetensors")
    progress = _resumed_progress(unfinished, key)  # before anything is rendered
    training, held_out = (_scenes(split, settings, workers, log) for split in ("train", "test"))
    trainer = Trainer(
        training,
        settings.net,
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        lr=settings.lr,
        seed=settings.seed,
    )
    if progress["epochs"]:
        trainer.restore(progress.pop("tensors"), progress["steps"])
    _learn(trainer, held_out, settings, progress, unfinished, log)
    weights = perception_bytes(trainer.net, settings.net, settings.size, key)
    record = {"weights": out.name, "sha256": hashlib.sha256(weights).hexdigest(), **_record(settings, progress)}
    write_json(_record_path(out), record)
    write_bytes(out, weights)  # last: if the weights exist, everything does
    unfinished.unlink(missing_ok=True)
    return record


def _learn(
    trainer: Trainer,
    held_out: AnnotatedScenes,
    settings: Pretraining,
    progress: dict[str, Any],
    unfinished: Path,
    log: Log,
) -> None:
    """Train the remaining epochs; ``progress`` and the file ``unfinished`` are updated after each."""
    done = len(progress["epochs"]) * len(trainer.scenes)
    log_progress = progress_logger("learning", log)
    log_progress(done, settings.epochs * len(trainer.scenes))

    def on_progress(more: int) -> None:
        nonlocal done
        done += more
        log_progress(done, settings.epochs * len(trainer.scenes))

    for number in range(len(progress["epochs"]) + 1, settings.epochs + 1):
        started = time.monotonic()
        loss = trainer.epoch(number, on_progress)
        seconds = time.monotonic() - started
        accuracy = perception_accuracy(outputs_of(trainer.net, held_out.images), held_out.codes, held_out.centres)
        progress["epochs"].append({"epoch": number, "loss": loss, "seconds": round(seconds, 2), **accuracy})
        progress["steps"] = trainer.steps
        write_bytes(unfinished, tensor_bytes(trainer.tensors(), {"key": settings.key, **progress}))
        log(f"epoch {number} of {settings.epochs}: loss {loss:.3f}, {describe_accuracy(accuracy)}")


def describe_accuracy(accuracy: dict[str, Any]) -> str:
    """The shares in one line.

    >>> describe_accuracy({"attributes": {"shape": 0.5, "size": None}, "all_attributes": 0.25, "recall": 1.0, "precision": None,
    ...           "whole_scenes": 0.0})
    'shape .500, size -, all attributes .250; recall 1.000, precision -; whole scenes .000'
    """

    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}".replace("0.", ".")

    attributes = ", ".join(f"{name} {share(value)}" for name, value in accuracy["attributes"].items())
    found = f"recall {share(accuracy['recall'])}, precision {share(accuracy['precision'])}"
    whole = f"whole scenes {share(accuracy['whole_scenes'])}"
    return f"{attributes}, all attributes {share(accuracy['all_attributes'])}; {found}; {whole}"


def _scenes(split: str, settings: Pretraining, workers: int, log: Log) -> AnnotatedScenes:
    return load_random_scenes(
        split,
        settings.scenes if split == "train" else settings.held_out,
        objects=settings.objects,
        size=settings.size,
        seed=settings.seed,
        backend=settings.backend,
        workers=workers,
        log=log,
    )


def _resumed_progress(unfinished: Path, key: str) -> dict[str, Any]:
    """The progress of an interrupted training with the same settings."""
    if not unfinished.exists():
        return {"epochs": [], "steps": 0}
    tensors, header = load_tensors(unfinished, "the state of an unfinished training")
    if header.get("key") != key:
        raise InputError(
            f"{unfinished} was made with other settings: give those to resume, delete it, or choose another --out"
        )
    return {"epochs": header["epochs"], "steps": header["steps"], "tensors": tensors}


def _existing_record(out: Path, key: str) -> dict[str, Any]:
    _, _, existing_key = load_perception(out)
    if existing_key != key:
        raise InputError(
            f"{out} was made with other settings (see {_record_path(out)}): choose another --out, or delete it"
        )
    record: dict[str, Any] = read_json(_record_path(out))
    return record


def _record(settings: Pretraining, progress: dict[str, Any]) -> dict[str, Any]:
    epochs = progress["epochs"]
    seconds = sum(epoch["seconds"] for epoch in epochs)
    last = {name: value for name, value in epochs[-1].items() if name not in ("epoch", "loss", "seconds")}
    return {
        "settings": settings.facts(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "training_seconds": round(seconds, 1),
        "images_per_second": round(len(epochs) * settings.scenes / seconds, 1) if seconds else None,
        "accuracy": last,
        "chance": {name: 1 / len(values) for name, values in ATTRIBUTES.items()},
        "epochs": epochs,
    }


def _record_path(out: Path) -> Path:
    return out.with_suffix(".json")
