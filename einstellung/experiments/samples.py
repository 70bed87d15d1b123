"""Samples of the inputs that a study keeps for its report, as archives of plain arrays."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.modalities import IMAGES, PADDING
from einstellung.randomness import generator
from einstellung.streams import Presentation, Stream

_GALLERY_PIXELS = 48 * 32 * 32  # of each variant: 48 images of CIFAR's size, fewer of larger ones


def image_archive(images: Mapping[str, Tensor], **more: np.ndarray[tuple[int, ...], np.dtype[Any]]) -> bytes:
    """A ``.npz`` of uint8 images [N, H, W, 3] by name, and of facts about them."""
    arrays = {name: batch.permute(0, 2, 3, 1).contiguous().numpy() for name, batch in images.items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays, **more)  # type: ignore[arg-type]
    return buffer.getvalue()


def stream_samples(stream: Stream, count: int = 8) -> bytes:
    """A few images original / patched / masked and raw / augmented; where the cue is part of the image, no original.

    ``gallery_*``: more of the former, with the index under which predictions name them. Of a stream that plants no cue, the
    samples that it names itself; empty where it names none. Of a list of phases, the last one with a cue.
    """
    if stream.cue is None:
        return image_archive(stream.samples) if stream.samples else b""
    if stream.modality is not IMAGES:
        return _other_samples(stream, count)
    pairs = [pair for pair in stream.pairs if pair.masked and pair.clean]
    pair = pairs[-1] if stream.phase_cues else pairs[0]
    assert pair.masked is not None
    assert pair.clean is not None
    total = len(stream.split(pair.clean).images)
    splits = {"original": pair.clean, "patched": pair.patched, "masked": pair.masked}
    if pair.clean == pair.patched:
        del splits["original"]
    rows = torch.linspace(0, total - 1, min(count, total)).long()
    sets = {name: stream.split(split).images.take(rows) for name, split in splits.items()}
    captions = np.array([stream.class_names[label] for label in sets["patched"].labels.tolist()])
    images = {name: some.images for name, some in sets.items()}
    shown = max(1, min(total, _GALLERY_PIXELS // (images["patched"].shape[-1] * images["patched"].shape[-2])))
    rows = torch.linspace(0, total - 1, shown).long()
    gallery = {name: stream.split(split).images.take(rows) for name, split in splits.items()}
    images |= {f"gallery_{name}": some.images for name, some in gallery.items()}
    train = (stream.phase(list(stream.phase_cues)[-1]) if stream.phase_cues else stream.phases[-1]).train
    some = train.take(torch.linspace(0, len(train) - 1, min(count, len(train))).long())
    images["raw"] = some.images
    images["augmented"] = Presentation(stream).training_pixels(
        some, generator(0, "sample-sheet"), generator(0, "sample-cue")
    )
    return image_archive(
        images,
        captions=captions,
        gallery_index=gallery["patched"].index.numpy(),
        gallery_labels=gallery["patched"].labels.numpy(),
        class_names=np.array(stream.class_names),
    )


def _other_samples(stream: Stream, count: int) -> bytes:
    """A few texts as words [N, T], or series [N, C, L]: original, patched and masked, and where the cue is [N, T or L]."""
    pair = next(pair for pair in stream.pairs if pair.masked and pair.clean)
    assert pair.masked is not None
    splits = {"original": pair.clean, "patched": pair.patched, "masked": pair.masked}
    if pair.clean == pair.patched:
        del splits["original"]
    total = len(stream.split(pair.patched).images)
    rows = torch.linspace(0, total - 1, min(count, total)).long()
    sets = {name: stream.split(str(split)).images.take(rows) for name, split in splits.items()}
    some = sets["patched"]
    cue = stream.cue_of(stream.split(pair.patched).phase)
    arrays = {name: _as_shown(one.images, stream.token_names) for name, one in sets.items()}
    arrays["region"] = cue.region(some.index, *some.images.shape[-2:])[:, 0, 0].numpy()
    arrays["captions"] = np.array([stream.class_names[label] for label in some.labels.tolist()])
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _as_shown(inputs: Tensor, token_names: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
    """Words for token numbers, with '' for free places; series as they are.

    >>> _as_shown(torch.tensor([[[[1, 0]]]]), ("[padding]", "[unknown]")).tolist()
    [['[unknown]', '']]
    """
    if not token_names:
        return inputs.flatten(2).numpy()
    words = ["" if number == PADDING else name for number, name in enumerate(token_names)]
    return np.array([[words[number] for number in row] for row in inputs.flatten(1).tolist()], dtype=str)
