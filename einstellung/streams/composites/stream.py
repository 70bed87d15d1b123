"""``composites``: targets with backgrounds and co-objects, two or three shortcuts at once (after Li et al., 2023).

The target determines the label y. Every cue (background, co-object and, with a third correlation, watermark) has a value, 0 or 1,
and is *common* in an image if that value is y. In the training images of a phase, cue k is common in a share rho_k of each class,
independently of the other cues; validation and test are balanced. The split ``group_1_10`` holds the test images of class 1 whose
background is common and whose co-object is not, ``val_1_10`` those of validation. Every cue has counterfactual twins:
``CUE_common`` holds the test images in which it is common, ``CUE_swapped`` the same images with the cue's other value,
``CUE_covered`` the same images without the cue.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from einstellung.composites.build import Composites, CompositeSpec, build_composites, find_sources
from einstellung.composites.procedural import PROCEDURAL
from einstellung.composites.published import is_published, read_published
from einstellung.composites.sources import TARGET
from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.streams.composites.checks import CHECKS, OF_SOURCES
from einstellung.streams.composites.frozen import as_features
from einstellung.streams.composites.interventions import Swap
from einstellung.streams.composites.splits import splits_of
from einstellung.streams.composites.table import CompositeTable
from einstellung.streams.stream import ImageSet, Phase, Stream, streams

_SAMPLES = 8  # images of each split on a contact sheet


@streams.register("composites")
def composites(
    sources: str = PROCEDURAL,
    path: str | None = None,
    size: int = 64,
    phases: tuple[tuple[float, ...], ...] = ((0.95, 0.95),),
    sources_per_phase: Literal["disjoint", "shared"] = "disjoint",
    train: int | None = None,
    val: int | None = None,
    test: int | None = None,
    first_labels: tuple[str, ...] = (),
    seed: int = 0,
    input_modality: Literal["pixels", "features"] = "pixels",
    extractor: str | None = None,
) -> Stream:
    """Two or three shortcuts at once; one phase per tuple of correlations (background, co-object and optionally watermark).

    ``sources``: ``procedural`` (generated), the name of a folder in the data places, or ``auto``: the photographs of
    ``pets-on-scenes`` if they are found, else procedural. ``path``: your own folder of sources, or of finished composites in the
    published layout. ``train``, ``val`` and ``test`` are images per class (and phase); null: as many as the sources allow.
    ``first_labels``: labels with value 0. ``input_modality: features``: the penultimate features of a trained classifier
    (``extractor``) instead of pixels.
    """
    if (input_modality == "features") != (extractor is not None):
        raise InputError(
            "stream.extractor, the name of a classifier, must be given if and only if stream.input_modality is 'features'"
        )
    if path is not None and sources != PROCEDURAL:
        raise InputError(f"stream.sources is '{sources}' and stream.path is given too: give only one")
    folder = Path(path).expanduser() if path else None
    counts = {"train": train, "val": val, "test": test}
    spec = CompositeSpec(size, tuple(map(tuple, phases)), counts, sources_per_phase == "shared", seed)
    spec.check()
    composed = _finished(folder, spec, first_labels) if folder and is_published(folder) else None
    if composed is None:
        composed = build_composites(find_sources(sources, folder, spec, first_labels), spec)
    stream = stream_of(composed, spec.shared, seed)
    return stream if extractor is None else as_features(stream, extractor, seed)


def _finished(folder: Path, spec: CompositeSpec, first: tuple[str, ...]) -> Composites:
    if given := [split for split, count in spec.counts.items() if count is not None]:
        raise InputError(f"stream.{given[0]} is given, but {folder} has finished composites, all of which are used")
    return read_published(folder, spec.phases, spec.size, first)


def stream_of(composed: Composites, shared: bool, seed: int) -> Stream:
    """The stream of given composites; ``shared``: phases may share sources."""
    table = CompositeTable(composed)
    phases = []
    for number, correlations in enumerate(composed.phases):
        name = f"T{number + 1}"
        known = tuple(cue for cue, rho in zip(composed.cues, correlations, strict=True) if rho != 0.5)
        phases.append(Phase(name, (0, 1), (), table.images(table.rows(name)), known))
    swaps = {cue: Swap(table, cue) for cue in composed.cues}
    splits = splits_of(table, {phase.name: phase.train for phase in phases}, swaps, seed)
    shown = [
        split for split in splits if not split.name.endswith(("_train", "_val")) and not split.name.startswith("val_")
    ]
    return Stream(
        name="composites",
        diagnosis="shortcuts",
        phases=tuple(phases),
        splits=tuple(splits),
        pairs=(),
        cue=None,
        cover=None,
        n_outputs=2,
        class_names=composed.labels[TARGET],
        mean=(0.5,) * 3,
        std=(0.5,) * 3,
        crop_padding=0,
        flip=True,  # the paper's only augmentation: training shows co-objects on either side
        checks=tuple(
            check_of(table, shared) for check_of in CHECKS if composed.sources_known or check_of not in OF_SOURCES
        ),
        samples={split.name: split.images.images[:_SAMPLES] for split in shown},
        cue_names=composed.cues,
        interventions=swaps,
        target_boxes=table.target_boxes,
        shared_sources=table.test_objects() if composed.sources_known else {},
        selected_by=tuple(split.name for split in splits if split.name.startswith("val_")),
        facts={
            "protocol": "several shortcuts",
            "cues": list(composed.cues),
            "correlations": {phase.name: list(rho) for phase, rho in zip(phases, composed.phases, strict=True)},
            "sources": composed.words,
            "labels": {kind: list(labels) for kind, labels in composed.labels.items()},
            "groups": {plan.name: composed.counts(plan) for plan in composed.plans},
            "input_modality": f"pixels, {composed.layers.size}x{composed.layers.size}",
            "content": _content(composed, [phase.train for phase in phases] + [split.images for split in splits]),
        },
    )


def _content(composed: Composites, sets: list[ImageSet]) -> str:
    """A hash of all images, and of the layers that swaps draw partners from."""
    tensors = [tensor.contiguous().numpy() for images in sets for tensor in (images.images, images.labels)]
    layers = (composed.layers.targets.pixels, composed.layers.backgrounds, composed.layers.objects.pixels)
    return digest([hashlib.sha256(array.data).hexdigest() for array in (*tensors, *layers)])
