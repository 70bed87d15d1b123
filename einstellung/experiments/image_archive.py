"""Images for the report, as an archive of plain arrays."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
from torch import Tensor


def image_archive(images: Mapping[str, Tensor], **more: np.ndarray[tuple[int, ...], np.dtype[np.str_]]) -> bytes:
    """A ``.npz`` of uint8 images [N, H, W, 3] by name, and of texts that belong to them."""
    arrays = {name: batch.permute(0, 2, 3, 1).contiguous().numpy() for name, batch in images.items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays, **more)  # type: ignore[arg-type]
    return buffer.getvalue()
