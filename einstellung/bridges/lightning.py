"""Lightning: a callback that records a timeline.

    from einstellung.bridges.lightning import ERICallback

    trainer = Trainer(max_epochs=20, callbacks=[ERICallback("my-method", 1, "my_logs", stream, phase="T2")])
    trainer.fit(module, train_loader)

Works with ``lightning`` or ``pytorch_lightning`` 2.x, imported when the name is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from einstellung.bridges.installed import import_framework
from einstellung.bridges.measuring import Splits
from einstellung.bridges.recorder import Recorder
from einstellung.errors import InputError
from einstellung.timeline import Timeline

if TYPE_CHECKING:
    from einstellung.bridges.lightning import LightningRecording as ERICallback

__all__ = ["ERICallback"]


def __getattr__(name: str) -> Any:
    """``ERICallback`` subclasses Lightning's ``Callback``, so it exists only if Lightning is installed."""
    if name == "ERICallback":
        return callback_class()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class LightningRecording:
    """The hooks of :class:`ERICallback`: measure all splits before the first step and after every ``every`` epochs.

    ``splits`` is one of our streams or a mapping as in :meth:`Recorder.evaluate`; the module's ``forward`` must return logits.
    Effective epochs are trained samples / size of the training set (``samples``, by default that of the trainer's data
    loader), whatever the trainer accumulates or limits. ``count`` returns the number of real samples in a batch if that is
    not its length: replayed samples do not count. Only rank zero measures and writes. ``resume`` continues the run's timeline
    after T1 or from a checkpoint.
    """

    def __init__(
        self,
        method: str,
        seed: int,
        folder: Path | str | None,
        splits: Splits,
        phase: str = "T2",
        every: int = 1,
        *,
        samples: int | None = None,
        count: Callable[[Any], int] | None = None,
        classes: Mapping[str, Sequence[int]] | None = None,
        resume: bool = False,
    ) -> None:
        super().__init__()
        if every < 1:
            raise InputError(f"every is {every}: measure after every epoch (1), or after every 2nd, 3rd, ...")
        self.recorder = Recorder(method, seed, folder, resume=resume)
        self.splits = splits
        self.phase = phase
        self.every = every
        self.samples = samples
        self.count = count or length
        self.classes = classes
        self._seen, self._epochs = 0, 0
        self._measured = 0.0

    def timeline(self) -> Timeline:
        """Everything recorded so far."""
        return self.recorder.timeline()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.recorder.begin_phase(
            self.phase, samples=_training_samples(trainer) if self.samples is None else self.samples
        )
        self.recorder.saw(self._seen)
        self._measured = self.recorder.effective_epoch
        if self._seen == 0:  # not when resuming from a checkpoint
            self._measure(trainer, pl_module)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        # a distributed sampler gives every process the same number of samples
        count = self.count(batch) * int(trainer.world_size)
        self._seen += count
        self.recorder.saw(count)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._epochs += 1
        if self._epochs % self.every == 0:
            self._measure(trainer, pl_module)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if self.recorder.effective_epoch > self._measured:
            self._measure(trainer, pl_module)
        self.recorder.end_phase()

    @property
    def state_key(self) -> str:
        return f"ERICallback of {self.phase}"  # T2 must not inherit the counts of a checkpoint of T1

    def state_dict(self) -> dict[str, int]:
        return {"seen": self._seen, "epochs": self._epochs}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        self._seen, self._epochs = state_dict["seen"], state_dict["epochs"]

    def _measure(self, trainer: Any, pl_module: Any) -> None:
        self._measured = self.recorder.effective_epoch
        if not trainer.is_global_zero:
            return
        with trainer.precision_plugin.forward_context():  # the precision of the trainer's own validation
            self.recorder.evaluate(pl_module, self.splits, device=pl_module.device, classes=self.classes)


def length(batch: Any) -> int:
    """The number of samples in a batch: the length of the first tensor in it.

    >>> import torch
    >>> length((torch.zeros(8, 3), torch.zeros(8))), length({"image": torch.zeros(4, 3)})
    (8, 4)
    """
    if isinstance(batch, Tensor) and batch.ndim:
        return len(batch)
    parts = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, (tuple, list)) else ()
    for part in parts:
        return length(part)
    raise InputError(
        f"a batch is a {type(batch).__name__}: give count=, a function from a batch to its number of samples"
    )


def _training_samples(trainer: Any) -> int:
    data = getattr(trainer.train_dataloader, "dataset", None)
    if data is None or not hasattr(data, "__len__"):
        raise InputError("the trainer's data loader does not know the size of the training set: give samples=...")
    return len(data)


@cache
def callback_class() -> type[Any]:
    """``ERICallback``: :class:`LightningRecording` as a subclass of Lightning's ``Callback``."""
    older = find_spec("lightning") is None and find_spec("pytorch_lightning") is not None
    lightning = import_framework("pytorch_lightning" if older else "lightning.pytorch", "lightning")
    attributes = {"__module__": "einstellung.bridges.lightning", "__doc__": LightningRecording.__doc__}
    return type("ERICallback", (LightningRecording, lightning.Callback), attributes)
