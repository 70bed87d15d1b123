"""Phases of data with their cues and named evaluation splits."""

from einstellung.streams.arrays import arrays
from einstellung.streams.cifar100 import cifar100
from einstellung.streams.composites import composites
from einstellung.streams.concon import concon
from einstellung.streams.folder import folder
from einstellung.streams.own_inputs import series_arrays, text_arrays
from einstellung.streams.presentation import Presentation
from einstellung.streams.proof import Proof, prove
from einstellung.streams.series import ucr, waves
from einstellung.streams.shapes import shapes
from einstellung.streams.stream import EvaluationSplit, ImageSet, MaskedPair, Phase, Stream, streams
from einstellung.streams.text import newsgroups, phrases, spam

__all__ = [
    "EvaluationSplit",
    "ImageSet",
    "MaskedPair",
    "Phase",
    "Presentation",
    "Proof",
    "Stream",
    "arrays",
    "cifar100",
    "composites",
    "concon",
    "folder",
    "newsgroups",
    "phrases",
    "prove",
    "series_arrays",
    "shapes",
    "spam",
    "streams",
    "text_arrays",
    "ucr",
    "waves",
]
