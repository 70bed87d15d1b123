"""The checks in the proof of a stream of composites.

Images are composed again from their layers; labels and cues come from the names of the sources; everything else is counted in the
images that training and evaluation use.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import numpy.typing as npt
import torch

from einstellung.checks import Check
from einstellung.composites.groups import group_shares
from einstellung.composites.layers import Masks
from einstellung.composites.sources import BACKGROUND, KINDS, OBJECT, TARGET
from einstellung.composites.watermark_mask import watermark_mask
from einstellung.randomness import generator
from einstellung.streams.composites.splits import group_names
from einstellung.streams.composites.table import CompositeTable
from einstellung.streams.stream import ImageSet, Stream

Checker = Callable[[Stream], Check]
_CHECKED = 64  # training images in which every cue is swapped


def images_are_their_parts(table: CompositeTable, shared: bool) -> Checker:
    """Every image equals its recomposition from layers; labels and features match the names of its sources."""

    def check(stream: Stream) -> Check:
        problems, seen = [], 0
        sets = {phase.name: phase.train for phase in stream.phases}
        sets |= {
            split.name: split.images for split in stream.splits if not split.name.endswith(("_swapped", "_covered"))
        }
        for name, images in sets.items():
            rows = images.index.numpy()
            parts = table.parts.take(rows)
            right = np.array_equal(images.images.numpy(), table.layers.compose(parts))
            right &= np.array_equal(images.labels.numpy(), table.layers.values[TARGET][parts.targets])
            values = [table.layers.values[BACKGROUND][parts.backgrounds], table.layers.values[OBJECT][parts.objects]]
            features = sum(value << bit for bit, value in enumerate([*values, parts.marks]))
            right &= images.features is not None and np.array_equal(images.features.numpy(), features)
            seen += len(images)
            if not right:
                problems.append(f"{name} holds images that do not match their sources")
        return Check(
            "every image matches its parts",
            not problems,
            "; ".join(problems) or f"{seen:,} images recomposed",
        )

    return check


def cues_go_with_labels(table: CompositeTable, shared: bool) -> Checker:
    """Every group of training images has the size given by the correlations, and no possible group is empty."""

    def check(stream: Stream) -> Check:
        problems, words = [], []
        for phase, asked in zip(stream.phases, table.composites.phases, strict=True):
            common = _common(phase.train, len(asked))
            shares = group_shares(asked)
            for label in (0, 1):
                of_label = common[phase.train.labels.numpy() == label]
                counts = {pattern: int((of_label == pattern).all(axis=1).sum()) for pattern in shares}
                # groups with less than one image get one from the large groups
                given = sum(0 < share * len(of_label) < 1 for share in shares.values())
                for pattern, share in shares.items():
                    exact = share * len(of_label)
                    most_given = given if exact > 1 else 0
                    fits = -1 - most_given <= counts[pattern] - exact <= 1
                    if not fits or (share > 0) != (counts[pattern] > 0):
                        problems.append(
                            f"{phase.name} has {counts[pattern]} images of class {label} with cues {_digits(pattern)}, should be "
                            f"about {exact:.1f}"
                        )
            found = ", ".join(
                f"{cue} {rho:.3f}" for cue, rho in zip(stream.cue_names, common.mean(axis=0), strict=True)
            )
            words.append(f"{phase.name}: shares with the common cue {found}, of {len(phase.train):,} images")
        return Check(
            "every cue is correlated with the label as configured", not problems, "; ".join(problems[:3] or words)
        )

    return check


def groups_are_balanced(table: CompositeTable, shared: bool) -> Checker:
    """Test and validation have all groups at equal size, and every group holds what its name says."""

    def check(stream: Stream) -> Check:
        problems, words = [], []
        cues = len(stream.cue_names)
        for prefix in ("val", "group"):
            sizes = set()
            for name, (label, pattern) in group_names(prefix, cues).items():
                images = stream.split(name).images
                sizes.add(len(images))
                fits = bool((images.labels == label).all()) and bool((_common(images, cues) == pattern).all())
                if not fits or not len(images):
                    problems.append(f"{name} is empty or holds images of other groups")
            if len(sizes) > 1:
                problems.append(f"groups of {prefix}_ have {min(sizes)} to {max(sizes)} images")
            words.append(f"{2 ** (cues + 1)} groups {prefix}_*, images in each: {max(sizes)}")
        return Check("validation and test are balanced", not problems, "; ".join(problems[:3] or words))

    return check


def sources_stay_apart(table: CompositeTable, shared: bool) -> Checker:
    """No two splits share a source, compared by pixels; no two phases share targets or backgrounds unless configured to."""

    def check(stream: Stream) -> Check:
        problems = []
        splits = {phase.name: phase.train for phase in stream.phases}
        splits |= {name: table.images(table.rows(name)) for name in ("val", "test")}
        contents = {name: {kind: _contents(table, kind, images) for kind in KINDS} for name, images in splits.items()}
        for one, other in combinations(splits, 2):
            both_train = other not in ("val", "test")
            for kind in KINDS:
                if both_train and (shared or kind == OBJECT):
                    continue
                if count := len(contents[one][kind] & contents[other][kind]):
                    problems.append(f"{one} and {other} share {count} {kind}s")
        sizes = ", ".join(f"{name} {len(found[TARGET]):,}" for name, found in contents.items())
        apart = "; phases share theirs" if shared and len(stream.phases) > 1 else ""
        return Check("no source is in two splits", not problems, "; ".join(problems[:3]) or f"targets: {sizes}{apart}")

    return check


def sources_are_used_once(table: CompositeTable, shared: bool) -> Checker:
    """No target and no background is used twice within a split."""

    def check(stream: Stream) -> Check:
        problems = []
        splits = {phase.name: phase.train.index.numpy() for phase in stream.phases}
        splits |= {name: table.rows(name) for name in ("val", "test")}
        for name, rows in splits.items():
            parts = table.parts.take(rows)
            for kind, numbers in ((TARGET, parts.targets), (BACKGROUND, parts.backgrounds)):
                if twice := len(numbers) - len(np.unique(numbers)):
                    problems.append(f"{twice} {kind}s are used twice in {name}")
        detail = "; ".join(problems) or f"every target and every background once in each of {', '.join(splits)}"
        return Check("no target or background is used twice", not problems, detail)

    return check


def twins_differ_by_cue(table: CompositeTable, shared: bool) -> Checker:
    """Twins, and training images with a swapped cue, differ only where the cue is."""

    def check(stream: Stream) -> Check:
        problems, words = [], []
        for bit, cue in enumerate(stream.cue_names):
            before = stream.split(f"{cue}_common").images
            if not bool((_common(before, len(stream.cue_names))[:, bit]).all()):
                problems.append(f"{cue}_common holds images in which the cue is not common")
            sample = stream.phases[0].train.take(torch.arange(min(_CHECKED, len(stream.phases[0].train))))
            pairs = {
                f"{cue}_swapped": (before, stream.split(f"{cue}_swapped").images),
                f"{cue}_covered": (before, stream.split(f"{cue}_covered").images),
                f"training images with another {cue}": (
                    sample,
                    stream.interventions[cue].swapped(sample, generator(0, "proof-swap", cue)),
                ),
            }
            for name, (one, other) in pairs.items():
                problems += [
                    f"{name}: {problem}" for problem in _differences(table, cue, bit, one, other, "covered" in name)
                ]
            words.append(f"{cue} {len(before)}")
        return Check("twins differ only in their cue", not problems, "; ".join(problems[:3]) or "; ".join(words))

    return check


def _differences(table: CompositeTable, cue: str, bit: int, one: ImageSet, other: ImageSet, covered: bool) -> list[str]:
    problems = []
    if not (torch.equal(one.labels, other.labels) and torch.equal(one.index, other.index)):
        problems.append("labels or identities differ")
    assert one.features is not None
    assert other.features is not None
    if not covered and not torch.equal(one.features ^ other.features, torch.full_like(one.features, 1 << bit)):
        problems.append("another cue changed too")
    changed = (one.images != other.images).any(dim=1).numpy()
    if (changed & ~_cue_area(table, cue, one.index.numpy(), covered)).any():
        problems.append("pixels differ outside the cue")
    alike = np.asarray(~changed.any(axis=(1, 2)))
    if cue == "watermark" and covered:
        alike &= ((one.features >> bit) & 1).numpy() == 1  # images without a watermark stay the same
    if alike.any():
        problems.append(f"{int(alike.sum())} of {len(alike)} images are unchanged")
    return problems


def _cue_area(table: CompositeTable, cue: str, rows: npt.NDArray[np.int64], covered: bool) -> Masks:
    parts = table.parts.take(rows)
    targets, objects = table.layers.target_masks(parts), table.layers.object_masks(parts)
    if cue == "background":
        return ~(targets | objects)
    if cue == "watermark":
        return np.broadcast_to(watermark_mask(table.layers.size) > 0, targets.shape)
    if covered:
        return objects
    whole = np.zeros_like(targets)
    whole[:, *table.layers.objects.window.area] = True  # the new object may have another outline
    return whole & ~targets


def _common(images: ImageSet, cues: int) -> npt.NDArray[np.bool_]:
    """Which images have the label's value in each cue, [n, cues]."""
    assert images.features is not None
    bits = (images.features[:, None] >> torch.arange(cues)) & 1
    return np.asarray((bits == images.labels[:, None]).numpy())


def _contents(table: CompositeTable, kind: str, images: ImageSet) -> set[bytes]:
    parts = table.parts.take(images.index.numpy())
    pixels = {
        TARGET: table.layers.targets.pixels,
        BACKGROUND: table.layers.backgrounds,
        OBJECT: table.layers.objects.pixels,
    }
    return {pixels[kind][number].tobytes() for number in np.unique(getattr(parts, f"{kind}s"))}


def _digits(pattern: tuple[int, ...]) -> str:
    return "".join(map(str, pattern))


CHECKS = (
    images_are_their_parts,
    cues_go_with_labels,
    groups_are_balanced,
    sources_stay_apart,
    sources_are_used_once,
    twins_differ_by_cue,
)
OF_SOURCES = (sources_stay_apart, sources_are_used_once)
