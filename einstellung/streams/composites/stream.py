"""``composites``: targets on backgrounds beside co-objects, two or three shortcuts at once (after Li et al., 2023).

The target tells the label y. Every cue (background, co-object and, where a third correlation is given, watermark) has a value, 0
or 1, and is *common* in an image where that is y. In the training images of a phase cue k is common in a share rho_k of each
class, independently of the other cues; validation and test are balanced. A split ``group_1_10`` holds the test images of class 1
whose background is common and whose co-object is not, ``val_1_10`` those of validation. Twins, for every cue: ``CUE_common``,
test images in which it is common, ``CUE_swapped``, the very same with that cue of the other value, ``CUE_covered``, without it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from einstellung.composites.making import Composites, Order, find_sources, make_composites
from einstellung.composites.procedural import PROCEDURAL
from einstellung.composites.published import is_published, read_published
from einstellung.composites.sources import TARGET
from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.streams.composites.checks import CHECKS, OF_SOURCES
from einstellung.streams.composites.frozen import as_features
from einstellung.streams.composites.interventions import Swap
from einstellung.streams.composites.splits import splits_of
from einstellung.streams.composites.table import Table
from einstellung.streams.stream import ImageSet, Phase, Stream, streams

_SHOWN = 8  # images of each kind on a sheet


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
    sees: Literal["pixels", "features"] = "pixels",
    extractor: str | None = None,
) -> Stream:
    """Two or three shortcuts at once; a phase for every set of correlations (background, co-object and, maybe, watermark).

    ``sources``: ``procedural`` (drawn here), or the name of a folder where data are looked for, or ``auto``: the photographs of
    ``pets-on-scenes`` where they are found and procedural sources elsewhere. ``path``: a folder of your own instead, of sources
    or of finished composites in the published layout. ``train``, ``val`` and ``test`` are images of each class (and phase);
    null: as many as there are sources for. ``first_labels``: labels that count as 0. ``sees: features``: what a trained
    classifier (``extractor``) gives to its last layer, instead of pixels.
    """
    if (sees == "features") != (extractor is not None):
        raise InputError(
            "stream.sees 'features' needs stream.extractor, the name of a classifier, and nothing else does"
        )
    if path is not None and sources != PROCEDURAL:
        raise InputError(f"stream.sources is '{sources}' and stream.path is given as well: give one of them")
    folder = Path(path).expanduser() if path else None
    counts = {"train": train, "val": val, "test": test}
    order = Order(size, tuple(map(tuple, phases)), counts, sources_per_phase == "shared", seed)
    order.check()
    made = _finished(folder, order, first_labels) if folder and is_published(folder) else None
    if made is None:
        made = make_composites(find_sources(sources, folder, order, first_labels), order)
    stream = stream_of(made, order.shared, seed)
    return stream if extractor is None else as_features(stream, extractor, seed)


def _finished(folder: Path, order: Order, first: tuple[str, ...]) -> Composites:
    if given := [split for split, count in order.counts.items() if count is not None]:
        raise InputError(f"stream.{given[0]} is given, but {folder} holds finished composites: all of them are used")
    return read_published(folder, order.phases, order.size, first)


def stream_of(made: Composites, shared: bool, seed: int) -> Stream:
    """The stream of composites that are there; ``shared``: its phases may have sources in common."""
    table = Table(made)
    phases = []
    for number, correlations in enumerate(made.phases):
        name = f"T{number + 1}"
        known = tuple(cue for cue, rho in zip(made.cues, correlations, strict=True) if rho != 0.5)
        phases.append(Phase(name, (0, 1), (), table.images(table.rows(name)), known))
    swaps = {cue: Swap(table, cue) for cue in made.cues}
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
        class_names=made.labels[TARGET],
        mean=(0.5,) * 3,
        std=(0.5,) * 3,
        crop_padding=0,
        flip=True,  # the paper's only augmentation: in training, co-objects are on either side
        checks=tuple(
            check_of(table, shared) for check_of in CHECKS if made.sources_known or check_of not in OF_SOURCES
        ),
        samples={split.name: split.images.images[:_SHOWN] for split in shown},
        cue_names=made.cues,
        interventions=swaps,
        target_boxes=table.target_boxes,
        selected_by=tuple(split.name for split in splits if split.name.startswith("val_")),
        facts={
            "protocol": "several shortcuts",
            "cues": list(made.cues),
            "correlations": {phase.name: list(rho) for phase, rho in zip(phases, made.phases, strict=True)},
            "sources": made.words,
            "labels": {kind: list(labels) for kind, labels in made.labels.items()},
            "groups": {lot.name: made.counts(lot) for lot in made.lots},
            "sees": f"pixels, {made.layers.size}x{made.layers.size}",
            "content": _content(made, [phase.train for phase in phases] + [split.images for split in splits]),
        },
    )


def _content(made: Composites, sets: list[ImageSet]) -> str:
    """A hash of what is shown, and of the layers that swaps take their partners from."""
    tensors = [tensor.contiguous().numpy() for images in sets for tensor in (images.images, images.labels)]
    layers = (made.layers.targets.pixels, made.layers.backgrounds, made.layers.objects.pixels)
    return digest([hashlib.sha256(array.data).hexdigest() for array in (*tensors, *layers)])
