"""Images that a study keeps for its report, as archives of plain arrays."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from einstellung.randomness import generator
from einstellung.streams import Presentation, Stream


def image_archive(images: Mapping[str, Tensor], **more: np.ndarray[tuple[int, ...], np.dtype[np.str_]]) -> bytes:
    """A ``.npz`` of uint8 images [N, H, W, 3] by name, and of their captions."""
    arrays = {name: batch.permute(0, 2, 3, 1).contiguous().numpy() for name, batch in images.items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays, **more)  # type: ignore[arg-type]
    return buffer.getvalue()


def stream_samples(stream: Stream, count: int = 8) -> bytes:
    """A few images original / patched / masked and raw / augmented; where the cue is part of the image, no original.

    Of a stream that plants no cue, the samples that it names itself; empty where it names none.
    """
    if stream.cue is None:
        return image_archive(stream.samples) if stream.samples else b""
    pair = next(pair for pair in stream.pairs if pair.masked and pair.clean)
    assert pair.masked is not None
    assert pair.clean is not None
    total = len(stream.split(pair.clean).images)
    rows = torch.linspace(0, total - 1, min(count, total)).long()
    sets = {
        "original": stream.split(pair.clean).images.take(rows),
        "patched": stream.split(pair.patched).images.take(rows),
        "masked": stream.split(pair.masked).images.take(rows),
    }
    captions = np.array([stream.class_names[label] for label in sets["original"].labels.tolist()])
    if pair.clean == pair.patched:
        del sets["original"]
    images = {name: some.images for name, some in sets.items()}
    train = stream.phases[-1].train
    some = train.take(torch.linspace(0, len(train) - 1, min(count, len(train))).long())
    images["raw"] = some.images
    images["augmented"] = Presentation(stream).training_pixels(
        some, generator(0, "sample-sheet"), generator(0, "sample-cue")
    )
    return image_archive(images, captions=captions)
