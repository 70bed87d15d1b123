"""Several shortcuts at once: what a stream holds, how a cue is changed, what is proved, and that a proof can fail."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from einstellung.composites.lots import NONE
from einstellung.composites.watermark_mask import watermarked
from einstellung.composites.writing import write_composites
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.randomness import generator
from einstellung.results.config import build_config
from einstellung.streams import Presentation, prove
from einstellung.streams.composites import composites
from einstellung.streams.composites.stream import stream_of
from einstellung.streams.composites.table import Table
from tests.composites.small import few

PETS = next((Path(p) / "pets-on-scenes" for p in os.environ.get("EINSTELLUNG_DATA", "").split(os.pathsep) if p), None)
PHASES = ((0.75, 0.5, 0.9), (0.5, 0.75, 0.5))
COUNTS = {"train": 20, "val": 8, "test": 16}
CUES = ("background", "co-object", "watermark")


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")


@pytest.fixture(scope="module")
def made():
    return few(size=32, phases=PHASES, counts=COUNTS)


@pytest.fixture(scope="module")
def table(made):
    return Table(made)


@pytest.fixture(scope="module")
def stream(made):
    """Three cues in two phases."""
    return stream_of(made, shared=False, seed=0)


def failed(stream):
    return {check.name for check in prove(stream).checks if not check.passed}


def test_every_group_and_every_twin_is_a_split(stream):
    sizes = {split.name: len(split.images) for split in stream.splits}
    patterns = ["111", "110", "101", "100", "011", "010", "001", "000"]
    expected = {f"T{t}_{what}": size for t in (1, 2) for what, size in (("train", 32), ("val", 16))}
    expected |= {f"val_{label}_{pattern}": 1 for label in (0, 1) for pattern in patterns}
    expected |= {f"group_{label}_{pattern}": 2 for label in (0, 1) for pattern in patterns}
    expected |= {f"{cue}_{word}": 16 for cue in CUES for word in ("common", "swapped", "covered")}
    assert sizes == expected
    assert [len(phase.train) for phase in stream.phases] == [40, 40]
    own = {split.name for split in stream.splits if split.phase == "T1"}
    assert own == {"T1_train", "T1_val"}


def test_what_is_known_of_a_phase(stream):
    assert stream.cue_names == CUES
    assert [phase.cues for phase in stream.phases] == [("background", "watermark"), ("co-object",)]
    assert stream.class_names == ("round", "spiky")
    facts = prove(stream).facts
    assert facts["protocol"] == "several shortcuts"
    assert facts["cues"] == list(CUES)
    assert facts["correlations"] == {"T1": [0.75, 0.5, 0.9], "T2": [0.5, 0.75, 0.5]}
    assert set(facts["groups"]["test"].values()) == {2}
    assert sum(facts["groups"]["T1"].values()) == 40


def test_features_are_values_and_groups_are_what_is_common(stream, table):
    for split in stream.splits:
        if not split.name.startswith(("group_", "val_")):
            continue
        _, label, pattern = split.name.split("_")
        for y, features in zip(split.images.labels.tolist(), split.images.features.tolist(), strict=True):
            values = [(features >> bit) & 1 for bit in range(3)]
            assert y == int(label)
            assert "".join(str(int(value == y)) for value in values) == pattern
    train = stream.phases[1].train
    rows = train.index.numpy()
    assert np.array_equal((train.features.numpy() >> 2) & 1, table.parts.marks[rows])
    assert np.array_equal(train.features.numpy() & 1, table.layers.values["background"][table.parts.backgrounds[rows]])


def test_the_proof_holds(stream, made):
    proof = prove(stream)
    assert proof.holds, [check for check in proof.checks if not check.passed]
    assert len(proof.checks) == 6
    shared = few(size=32, phases=PHASES, counts={**COUNTS, "train": 16}, shared=True)
    assert prove(stream_of(shared, shared=True, seed=0)).holds
    assert failed(stream_of(shared, shared=False, seed=0)) == {"no source is in two splits"}


def test_the_same_seed_gives_the_same_stream():
    small = {"size": 16, "counts": {"train": 4}}
    one, again, other = (stream_of(few(**small, seed=seed), shared=False, seed=seed) for seed in (0, 0, 1))
    assert again.facts["content"] == one.facts["content"] != other.facts["content"]
    for before, after in zip(one.splits, again.splits, strict=True):
        assert torch.equal(before.images.images, after.images.images)


# ------------------------------------------------------------------ a cue changed


def test_twins_are_the_layers_with_one_part_exchanged(stream, table):
    """The very parts, looked up by hand: all but one are the original's."""
    layers = table.layers
    for split, change in (
        ("background_covered", {"backgrounds": NONE}),
        ("co-object_covered", {"objects": NONE}),
        ("watermark_covered", {"marks": 0}),
    ):
        images = stream.split(split).images
        parts = table.parts.take(images.index.numpy())
        parts = replace(parts, **{name: np.full(len(parts), value) for name, value in change.items()})
        assert np.array_equal(images.images.numpy(), layers.compose(parts))
    marked = stream.split("watermark_common").images
    bare = table.parts.take(marked.index.numpy())
    bare = layers.compose(replace(bare, marks=np.zeros(len(bare), dtype=np.int64)))
    was = marked.labels.numpy() == 1  # common: the watermark goes with class 1
    swapped = stream.split("watermark_swapped").images.images.numpy()
    assert np.array_equal(marked.images.numpy()[was], watermarked(bare[was]))
    assert np.array_equal(marked.images.numpy()[~was], bare[~was])
    assert np.array_equal(swapped[was], bare[was])
    assert np.array_equal(swapped[~was], watermarked(bare[~was]))


@pytest.mark.parametrize("cue", CUES)
def test_a_swap_changes_the_value_and_keeps_the_rest(stream, table, cue):
    bit = CUES.index(cue)
    train = stream.phases[0].train
    swapped = stream.interventions[cue].swapped(train, generator(0, "test"))
    assert torch.equal(swapped.labels, train.labels)
    assert torch.equal(swapped.index, train.index)
    assert not bool(swapped.has_cue.any())
    assert torch.equal(swapped.features, train.features ^ (1 << bit))
    assert bool((swapped.images != train.images).flatten(1).any(dim=1).all())
    masks = torch.from_numpy(table.layers.target_masks(table.parts.take(train.index.numpy())))
    if cue != "watermark":
        kept = masks.unsqueeze(1).expand_as(train.images)
        assert torch.equal(swapped.images[kept], train.images[kept])
    again = stream.interventions[cue].swapped(train, generator(0, "test"))
    assert torch.equal(again.images, swapped.images)
    if cue != "watermark":
        other = stream.interventions[cue].swapped(train, generator(1, "test"))
        assert not torch.equal(other.images, swapped.images)


def test_partners_are_those_of_the_images_own_lot(stream, table):
    """A thousand draws for every image: only sources of its phase and of the other value, each about as often."""
    swap = stream.interventions["background"]
    for name in ("T1", "T2", "val", "test"):
        row = table.rows(name)[:1]
        chosen = swap.parts(np.repeat(row, 1000), (np.arange(1000) + 0.5) / 1000)
        used = np.unique(table.parts.backgrounds[table.rows(name)])
        wanted = used[table.layers.values["background"][used] != table.values[row[0], 0]]
        found, counts = np.unique(chosen.backgrounds, return_counts=True)
        assert found.tolist() == wanted.tolist()
        assert counts.max() - counts.min() <= 1
        assert (chosen.targets == table.parts.targets[row]).all()
        assert (chosen.objects == table.parts.objects[row]).all()


def test_rows_of_several_lots_are_swapped_together(stream, table):
    both = torch.cat([phase.train.index[:5] for phase in stream.phases])
    images = table.images(both.numpy())
    swapped = stream.interventions["co-object"].swapped(images, generator(0, "mixed"))
    assert torch.equal(swapped.features, images.features ^ 2)


def test_an_image_that_was_changed_is_not_changed_again(stream):
    few_images = stream.phases[0].train.take(torch.arange(4))
    once = stream.interventions["background"].swapped(few_images, generator(0, "test"))
    with pytest.raises(ValueError, match="only be swapped in images as the stream has them"):
        stream.interventions["co-object"].swapped(once, generator(0, "test"))


def test_target_boxes(stream, table):
    train = stream.phases[1].train
    boxes = stream.target_boxes(train)
    masks = table.layers.target_masks(table.parts.take(train.index.numpy()))
    for mask, (top, left, bottom, right) in zip(masks, boxes.tolist(), strict=True):
        assert mask[top:bottom, left:right].sum() == mask.sum()
        assert mask[top].any()
        assert mask[bottom - 1].any()
        assert mask[:, left].any()
        assert mask[:, right - 1].any()


# ------------------------------------------------------------------ a proof can fail


def with_train(stream, number, **changes):
    phases = list(stream.phases)
    phases[number] = replace(phases[number], train=replace(phases[number].train, **changes))
    return replace(stream, phases=tuple(phases))


def with_split(stream, name, **changes):
    splits = [
        replace(split, images=replace(split.images, **changes)) if split.name == name else split
        for split in stream.splits
    ]
    return replace(stream, splits=tuple(splits))


def test_a_wrong_pixel_label_or_feature_is_found(stream):
    train = stream.phases[1].train
    pixels = train.images.clone()
    pixels[3, 1, 5, 5] ^= 1
    name = "every image is what its parts say"
    assert failed(with_train(stream, 1, images=pixels)) == {name}
    assert name in failed(with_train(stream, 1, labels=1 - train.labels))
    assert name in failed(with_train(stream, 1, features=train.features ^ 4))


def test_a_wrong_correlation_is_found(stream, made):
    asked = replace(made, phases=((0.5, 0.5, 0.9), (0.5, 0.75, 0.5)))
    assert failed(stream_of(asked, shared=False, seed=0)) == {"every cue goes with the label as often as asked"}


def test_uneven_groups_are_found(stream):
    name = "validation and test are balanced"
    group = stream.split("group_1_100").images
    shorter = replace(
        stream,
        splits=tuple(
            replace(split, images=group.take(torch.arange(1))) if split.name == "group_1_100" else split
            for split in stream.splits
        ),
    )
    assert failed(shorter) == {name}
    exchanged = replace(
        stream,
        splits=tuple(replace(split, images=group) if split.name == "group_1_010" else split for split in stream.splits),
    )
    assert failed(exchanged) == {name}


def test_a_source_in_two_splits_or_used_twice_is_found(made):
    train, *others, test = made.lots
    leaking = replace(test, parts=replace(test.parts, targets=_like(test, train, made)))
    assert failed(stream_of(replace(made, lots=(train, *others, leaking)), False, 0)) == {"no source is in two splits"}
    twice = train.parts.targets.copy()
    same = np.flatnonzero(train.labels == train.labels[0])
    twice[same[1]] = twice[same[0]]
    doubled = replace(train, parts=replace(train.parts, targets=twice))
    assert failed(stream_of(replace(made, lots=(doubled, *others, test)), False, 0)) == {
        "no target or background is used twice"
    }


def _like(test, train, made):
    """The test's targets, the first of them exchanged for one of training with the same label."""
    targets = test.parts.targets.copy()
    targets[0] = train.parts.targets[train.labels == test.labels[0]][0]
    return targets


def test_twins_that_differ_elsewhere_or_not_at_all_are_found(stream, table):
    name = "a twin is the same image but for its cue"
    before = stream.split("background_common").images
    assert failed(with_split(stream, "background_swapped", images=before.images)) == {name}
    assert failed(with_split(stream, "co-object_covered", features=before.features, images=before.images)) == {name}
    pixels = stream.split("background_swapped").images.images.clone()
    top, left, bottom, right = stream.target_boxes(before)[0].tolist()
    pixels[0, :, top:bottom, left:right] ^= 255
    assert failed(with_split(stream, "background_swapped", images=pixels)) == {name}

    class Idle:
        def swapped(self, images, draws):
            return images

    assert failed(replace(stream, interventions={**stream.interventions, "watermark": Idle()})) == {name}


# ------------------------------------------------------------------ options


def configured(**stream):
    epochs = [1] * len(stream.get("phases", [0]))
    values = {
        "methods": ["sgd"],
        "seeds": [0],
        "stream": {"name": "composites", **stream},
        "training": {"epochs": epochs},
    }
    return build_config(values)


def test_a_configuration_names_it():
    config = resolve(configured(phases=[[0.75, 0.5], [0.5, 0.75]], size=32, train=8, val=4, test=4))
    stream = build_stream(config)
    assert [phase.cues for phase in stream.phases] == [("background",), ("co-object",)]
    assert stream.cue_names == CUES[:2]
    assert prove(stream).holds
    shown = Presentation(stream).unaugmented(stream.phases[0].train)
    assert torch.allclose(shown, stream.phases[0].train.images.float() / 127.5 - 1, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sees": "features"}, "stream.sees 'features' needs stream.extractor"),
        (
            {"extractor": "efficientnet-lite0"},
            "needs stream.extractor, the name of a classifier, and nothing else does",
        ),
        (
            {"sources": "pets-on-scenes", "path": "x"},
            "stream.sources is 'pets-on-scenes' and stream.path is given as well",
        ),
        ({"path": "/nowhere/at/all"}, "there is no such folder"),
        ({"size": 8}, "size is 8"),
        ({"phases": ((0.95,),)}, "phases have 1 correlations"),
        ({"first_labels": ("round",)}, "first_labels is for sources in folders"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        composites(**options)


def test_finished_composites_are_a_stream(tmp_path):
    made = few(size=32, phases=((0.75, 0.75),))
    write_composites(tmp_path / "made", made, {"size": 32, "seed": 0}, lambda done, total: None)
    stream = composites(path=str(tmp_path / "made"), size=32, phases=((0.75, 0.75),))
    assert prove(stream).holds
    assert stream.class_names == ("round", "spiky")
    assert stream.facts["sources"].startswith("finished composites read from a folder")
    with pytest.raises(InputError, match=r"stream.train is given, but .* holds finished composites"):
        composites(path=str(tmp_path / "made"), size=32, phases=((0.75, 0.75),), train=4)


class Averages:
    """An extractor whose features can be worked out: the mean of every channel, and that of the right edge."""

    digest = "averages"
    seen = 0

    def features(self, images):
        self.seen += len(images)
        floats = images.float()
        return torch.cat([floats.mean(dim=(2, 3)), floats[..., -2:].mean(dim=(2, 3))], dim=1)


def test_features_of_a_frozen_extractor(monkeypatch, made, stream):
    import einstellung.classifiers
    from einstellung.streams.composites.frozen import PARTNERS, as_features

    net = Averages()
    monkeypatch.setattr(einstellung.classifiers, "load_extractor", lambda name: net)
    seen = as_features(stream, "averages", 0)
    assert net.seen < 40 * 2 * (1 + PARTNERS * 3) + 16 + 32 + 16 * 6 + 1  # what is in several splits is looked at once
    for phase, pictures in zip(seen.phases, stream.phases, strict=True):
        assert phase.train.images.shape == (40, 6, 1, 1)
        assert torch.equal(phase.train.images[:, :, 0, 0], net.features(pictures.train.images))
        shown = Presentation(seen).training(phase.train, generator(0, "a"), None)
        assert torch.equal(shown, phase.train.images)  # neither flipped nor scaled
    for split, pictures in zip(seen.splits, stream.splits, strict=True):
        assert torch.equal(split.images.images[:, :, 0, 0], net.features(pictures.images.images))
        assert torch.equal(split.images.features, pictures.images.features)
    train = seen.phases[1].train
    swapped = seen.interventions["co-object"].swapped(train, generator(3, "swap"))
    assert torch.equal(swapped.features, train.features ^ 2)
    possible = [
        net.features(
            stream.interventions["co-object"]
            .swapped(stream.phases[1].train, generator(0, "frozen-swap", "co-object", "T2", number))
            .images
        )
        for number in range(PARTNERS)
    ]
    chosen = torch.stack([(swapped.images[:, :, 0, 0] == one).all(dim=1) for one in possible])
    assert bool(chosen.any(dim=0).all())
    assert bool(chosen.any(dim=1).all())  # each partner is drawn for some image
    with pytest.raises(ValueError, match="swapped in training images only"):
        seen.interventions["co-object"].swapped(seen.split("T1_val").images, generator(0, "swap"))
    assert prove(seen).holds
    assert seen.target_boxes is None
    assert seen.facts["content"] != stream.facts["content"]
    broken = with_split(seen, "T1_val", images=torch.full_like(seen.split("T1_val").images.images, torch.nan))
    assert failed(broken) == {"every feature is a number"}


@pytest.mark.skipif(PETS is None or not PETS.is_dir(), reason="pets-on-scenes not found in EINSTELLUNG_DATA")
def test_photographs():
    stream = composites(sources="pets-on-scenes", train=20, val=4, test=8, size=32)
    assert prove(stream).holds
    assert stream.class_names == ("cat", "dog")
    assert stream.facts["labels"]["background"] == ["urban", "country"]
    assert stream.facts["groups"]["T1"]["0_11"] == 17
