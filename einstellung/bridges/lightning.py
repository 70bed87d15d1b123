"""Lightning: a callback that ends in a timeline.

    from einstellung.bridges.lightning import ERICallback

    trainer = Trainer(max_epochs=20, callbacks=[ERICallback("my-method", 1, "my_logs", stream, phase="T2")])
    trainer.fit(module, train_loader)

Works with ``lightning`` or ``pytorch_lightning`` 2.x; whichever is there is imported when the name is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from einstellung.bridges.installed import needed
from einstellung.bridges.measuring import Splits
from einstellung.bridges.recorder import Recorder
from einstellung.errors import InputError
from einstellung.timeline import Timeline

if TYPE_CHECKING:
    from einstellung.bridges.lightning import Recording as ERICallback

__all__ = ["ERICallback"]


def __getattr__(name: str) -> Any:
    """``ERICallback`` is a subclass of Lightning's own class, so it exists only where Lightning does."""
    if name == "ERICallback":
        return callback_class()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class Recording:
    """What :class:`ERICallback` does: all splits before the first step and after every ``every`` epochs of a phase.

    ``splits`` is one of our streams or a mapping as :meth:`Recorder.evaluate` takes it; the module's ``forward`` gives the
    logits. Effective epochs are samples in the batches that were trained on / size of the training set (``samples``, by
    default that of the trainer's data loader), whatever the trainer accumulates or limits. ``count`` tells how many real
    samples a batch holds, where that is not its length: replayed ones do not count. Only the process of rank zero measures
    and writes. ``resume`` continues the run's timeline: after T1, or from a checkpoint.
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
        if self._seen == 0:  # not where a checkpoint is taken up
            self._measure(trainer, pl_module)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        # Every process goes through as many samples: that is what a distributed sampler sees to.
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
        return f"ERICallback of {self.phase}"  # what a checkpoint of T1 counted does not count for T2

    def state_dict(self) -> dict[str, int]:
        return {"seen": self._seen, "epochs": self._epochs}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        self._seen, self._epochs = state_dict["seen"], state_dict["epochs"]

    def _measure(self, trainer: Any, pl_module: Any) -> None:
        self._measured = self.recorder.effective_epoch
        if not trainer.is_global_zero:
            return
        with trainer.precision_plugin.forward_context():  # as the trainer's own validation would run
            self.recorder.evaluate(pl_module, self.splits, device=pl_module.device, classes=self.classes)


def length(batch: Any) -> int:
    """How many samples a batch holds: the length of the first tensor in it.

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
        raise InputError("the size of the training set is not known from the trainer's data loader: give samples=...")
    return len(data)


@cache
def callback_class() -> type[Any]:
    """``ERICallback``: :class:`Recording` as a callback of Lightning's own kind."""
    older = find_spec("lightning") is None and find_spec("pytorch_lightning") is not None
    lightning = needed("pytorch_lightning" if older else "lightning.pytorch", "lightning")
    own = {"__module__": "einstellung.bridges.lightning", "__doc__": Recording.__doc__}
    return type("ERICallback", (Recording, lightning.Callback), own)
