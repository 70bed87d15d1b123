"""Attention of a run's net at the configured epochs: rows for ``attention.csv``, maps for ``attention.npz``."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.files import write_bytes, write_text
from einstellung.probes.attention import AttentionProbe, AttentionSummary
from einstellung.registry import suggestion
from einstellung.results.config import AttentionConfig
from einstellung.streams import ImageSet, Phase, Presentation, Stream
from einstellung.timeline import NSC, SC_CLEAN, SC_MASK, SC_PATCH, T1_ALL

USUAL_SPLITS = (T1_ALL, SC_CLEAN, SC_PATCH, SC_MASK, NSC)
EXAMPLE_SPLITS = (SC_CLEAN, SC_PATCH, SC_MASK)
FILES = ("attention.csv", "attention.npz")


def attention_splits(config: AttentionConfig, stream: Stream) -> list[str]:
    """The splits to measure: those configured, or the default ones that the stream has."""
    there = [split.name for split in stream.splits]
    if config.splits is None:
        return [name for name in USUAL_SPLITS if name in there]
    for name in config.splits:
        if name not in there:
            raise InputError(f"attention.splits names '{name}': {suggestion(name, there)}")
    return list(config.splits)


def check_attention(config: AttentionConfig, stream: Stream, net: nn.Module, one: Tensor, epochs: int) -> None:
    """Refuse settings that cannot be measured before anything is trained; ``one`` is a network input."""
    if stream.cue is None:
        raise InputError(
            f"attention is measured at a planted cue, but the stream '{stream.name}' plants none; remove the attention section"
        )
    if stream.phase_cues:
        raise InputError(
            "attention is measured in T2 and compared with T1: it is not available for a stream with a list of phases; remove "
            "the attention section"
        )
    try:
        AttentionProbe(net).maps(one)
    except InputError as error:
        raise InputError(f"attention: {error}; use the backbone vit, or remove the attention section") from None
    attention_splits(config, stream)
    if late := [epoch for epoch in config.epochs if epoch > epochs]:
        raise InputError(f"attention.epochs names epoch {late[0]}, but no phase has more than {epochs}")


class AttentionLog:
    """Measures attention without changing the net; its state is part of the run's checkpoint."""

    def __init__(
        self,
        config: AttentionConfig,
        stream: Stream,
        presentation: Presentation,
        autocast: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self.config = config
        self.presentation = presentation
        self.autocast = autocast
        self._sets = {name: self._some(stream.split(name).images) for name in attention_splits(config, stream)}
        self._cue = stream.planted_cue
        self.rows: list[dict[str, Any]] = []
        self.maps: dict[str, dict[str, dict[str, dict[str, Tensor]]]] = {}

    def is_due(self, epoch: float, last: bool) -> bool:
        return last or epoch in self.config.epochs

    def measure(self, net: nn.Module, phase: Phase, epoch: float) -> None:
        """Measure every split."""
        moment = self.maps.setdefault(phase.name, {}).setdefault(f"{epoch:g}", {})
        probe = AttentionProbe(net, batch_size=self.config.batch_size)
        with self.autocast():
            for name, images in self._sets.items():
                summary = probe.summarise(self._batches(images))
                moment[name] = {
                    "mean_heads": torch.from_numpy(summary.mean_map_heads).float(),
                    "mean_rollout": torch.from_numpy(summary.mean_map_rollout).float(),
                }
                if name in EXAMPLE_SPLITS and self.config.examples:
                    inputs = self.presentation.normalised(self._examples(images).images)
                    moment[name]["example_rollout"] = probe.maps(inputs).rollout.float()
                where = {"phase": phase.name, "epoch": epoch, "split": name, "n": summary.n}
                self.rows += [{**where, **row} for row in _rows(summary)]

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows, "maps": self.maps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.rows, self.maps = list(state["rows"]), dict(state["maps"])

    def write(self, folder: Path) -> list[str]:
        """Write both files and return their names."""
        table, arrays = FILES
        write_text(folder / table, pd.DataFrame(self.rows).to_csv(index=False, lineterminator="\n"))
        write_bytes(folder / arrays, self._archive())
        return [table, arrays]

    def _archive(self) -> bytes:
        arrays: dict[str, Any] = {}
        for phase, moments in self.maps.items():
            for epoch, splits in moments.items():
                for split, maps in splits.items():
                    arrays |= {f"{kind}/{phase}/{epoch}/{split}": value.numpy() for kind, value in maps.items()}
        for name in (name for name in EXAMPLE_SPLITS if name in self._sets and self.config.examples):
            examples = self._examples(self._sets[name])
            arrays[f"example_images/{name}"] = examples.images.permute(0, 2, 3, 1).contiguous().numpy()
            arrays["example_regions"] = self._region(examples)[:, 0].numpy()
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **dict(sorted(arrays.items())))  # equal runs leave equal bytes
        return buffer.getvalue()

    def _some(self, images: ImageSet) -> ImageSet:
        wanted = min(self.config.images or len(images), len(images))
        return images if wanted == len(images) else images.take(_spread(len(images), wanted))

    def _examples(self, images: ImageSet) -> ImageSet:
        return images.take(_spread(len(images), min(self.config.examples, len(images))))

    def _batches(self, images: ImageSet) -> Iterator[tuple[Tensor, Tensor | None]]:
        size = self.config.batch_size
        batches = [torch.arange(start, min(start + size, len(images))) for start in range(0, len(images), size)]
        # Without a cue region the attention share is undefined: a split with such an image is unboxed.
        boxed = all(bool(self._region(images.take(rows)).flatten(1).any(dim=1).all()) for rows in batches)
        for rows in batches:
            some = images.take(rows)
            yield self.presentation.normalised(some.images), self._region(some) if boxed else None

    def _region(self, images: ImageSet) -> Tensor:
        """Where the cue is, or would be if it were painted."""
        return self._cue.region(images.index, *images.images.shape[-2:])


def _spread(total: int, wanted: int) -> Tensor:
    """Equally spaced rows."""
    return torch.linspace(0, total - 1, wanted).long()


def _rows(summary: AttentionSummary) -> Iterator[dict[str, Any]]:
    """A row per head, per layer (the mean map over its heads) and for the roll-out."""
    layers, heads = summary.entropy_heads.shape
    for layer in range(layers):
        for head in range(heads):
            of_heads = (summary.share_heads, summary.entropy_heads, summary.diversity_heads)
            yield _row(layer + 1, head + 1, *(None if v is None else v[layer, head] for v in of_heads))
        of_layers = (summary.share_layers, summary.entropy_layers, summary.diversity_layers)
        yield _row(layer + 1, "mean", *(None if v is None else v[layer] for v in of_layers))
    yield _row("rollout", "", summary.share_rollout, summary.entropy_rollout, summary.diversity_rollout)


def _row(layer: object, head: object, share: Any, entropy: Any, diversity: Any) -> dict[str, Any]:
    return {
        "layer": layer,
        "head": head,
        "AS": float(-entropy if share is None else share),
        "boxed": int(share is not None),
        "entropy": float(entropy),
        "ADI": None if diversity is None else float(diversity),
    }
