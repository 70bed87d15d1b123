"""The logits in whatever a model returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def logits_of(output: Any) -> Any:
    """A tensor as it is; of an object or mapping with ``logits`` (Hugging Face) these, of a tuple or list its first element.

    >>> logits_of({"logits": 3, "loss": 1}), logits_of((3, "hidden states")), logits_of(3)
    (3, 3, 3)
    """
    if hasattr(output, "logits"):
        return output.logits
    if isinstance(output, Mapping) and "logits" in output:
        return output["logits"]
    if isinstance(output, tuple | list) and output:
        return output[0]
    return output
