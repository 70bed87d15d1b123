"""Kinds of inputs: how each is augmented, given to a net, and compared by a stream's proof."""

from einstellung.modalities.contract import Modality, Scaling, View
from einstellung.modalities.images import IMAGES, crop_and_flip
from einstellung.modalities.series import SERIES
from einstellung.modalities.texts import TEXTS
from einstellung.sources.vocabulary import FIRST_WORD, INSERTED, PADDING, UNKNOWN

MODALITIES: dict[str, Modality] = {one.name: one for one in (IMAGES, TEXTS, SERIES)}

__all__ = [
    "FIRST_WORD",
    "IMAGES",
    "INSERTED",
    "MODALITIES",
    "PADDING",
    "SERIES",
    "TEXTS",
    "UNKNOWN",
    "Modality",
    "Scaling",
    "View",
    "crop_and_flip",
]
