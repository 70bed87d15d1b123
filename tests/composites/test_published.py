"""The published layout: what is written is read back, and what is wrong with a folder is named."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from einstellung.composites.published import is_published, read_published
from einstellung.composites.sources import KINDS
from einstellung.composites.writing import write_composites
from einstellung.errors import InputError
from tests.composites.small import few

PHASE = (0.75, 0.75)
SETTINGS = {"size": 32, "seed": 0}
GROUP = "bg-0.75_co_occur_obj-0.75/train/obj-round_bg-blocks_co_occur_obj-plant"


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")


@pytest.fixture(scope="module")
def made():
    return few(phases=(PHASE,))


@pytest.fixture(scope="module")
def written(made, tmp_path_factory):
    out = tmp_path_factory.mktemp("composites") / "folder"
    write_composites(out, made, SETTINGS, lambda done, total: None)
    return out


@pytest.fixture
def folder(written, tmp_path):
    return shutil.copytree(written, tmp_path / "copy")


def by_group(composites, plan):
    """Rows of a lot in the order of the folders: label, background, co-object."""
    values = np.concatenate([plan.labels[:, None], composites.values(plan.parts)], axis=1)
    return np.lexsort((np.arange(len(values)), *values.T[::-1]))


def test_what_is_written_is_read_back(made, written):
    read = read_published(written, (PHASE,), 32)
    assert read.labels == made.labels
    assert [plan.name for plan in read.plans] == ["T1", "val", "test"]
    for before, after in zip(made.plans, read.plans, strict=True):
        assert made.counts(before) == read.counts(after)
        parts = before.parts.take(by_group(made, before))
        for masks in ("target_masks", "object_masks"):
            assert np.array_equal(getattr(made.layers, masks)(parts), getattr(read.layers, masks)(after.parts))
        pixels, again = made.layers.compose(parts), read.layers.compose(after.parts)
        assert np.abs(pixels.astype(int) - again).mean() < 2.5  # what JPEG takes
        hidden = made.layers.target_masks(parts) | made.layers.object_masks(parts)
        behind, then = made.layers.backgrounds[parts.backgrounds], read.layers.backgrounds[after.parts.backgrounds]
        assert np.array_equal(behind.transpose(0, 2, 3, 1)[hidden], then.transpose(0, 2, 3, 1)[hidden])


def test_composing_a_read_image_gives_the_file(written):
    read = read_published(written, (PHASE,), 32)
    plan = read.plans[-1]
    names = [read.layers.names["target"][n] for n in plan.parts.targets]
    for picture, name in zip(read.layers.compose(plan.parts), names, strict=True):
        file = written / "bg-0.5_co_occur_obj-0.5" / name
        assert np.array_equal(picture.transpose(1, 2, 0), np.asarray(Image.open(file)))


def test_without_whole_backgrounds_they_are_filled_in(folder):
    whole = read_published(folder, (PHASE,), 32)
    for path in folder.rglob("*_bg_only.png"):
        path.unlink()
    filled = read_published(folder, (PHASE,), 32)
    assert "with hidden background pixels interpolated from the sides" in filled.words
    parts = whole.plans[0].parts
    assert np.array_equal(whole.layers.compose(parts), filled.layers.compose(parts))
    hidden = whole.layers.target_masks(parts) | whole.layers.object_masks(parts)
    seen = np.broadcast_to(~hidden[:, None], whole.layers.backgrounds[parts.backgrounds].shape)
    assert np.array_equal(
        whole.layers.backgrounds[parts.backgrounds][seen], filled.layers.backgrounds[parts.backgrounds][seen]
    )


def test_the_authors_own_labels_and_order(folder):
    """Without a record, urban is 0 and country 1; all splits may lie under one pair of correlations."""
    (folder / "made.json").unlink()
    names = {
        "round": "urban",
        "spiky": "country",
        "blocks": "urban",
        "clouds": "country",
        "sign": "urban",
        "plant": "country",
    }
    for group in sorted(folder.glob("bg-*/*/*")):
        renamed = group.name
        for before, after in names.items():
            renamed = renamed.replace(before, after)
        group.rename(group.with_name(renamed))
    for split in ("val", "test"):
        shutil.move(folder / "bg-0.5_co_occur_obj-0.5" / split, folder / "bg-0.75_co_occur_obj-0.75" / split)
    read = read_published(folder, (PHASE,), 32)
    assert read.labels == dict.fromkeys(KINDS, ("urban", "country"))
    assert list(read.counts(read.plans[0]).values()) == [7, 2, 2, 1] * 2
    assert read_published(folder, (PHASE,), 16).layers.size == 16


def test_a_correlation_of_one_leaves_groups_out(tmp_path):
    made = few(phases=((1.0, 0.75),))
    write_composites(tmp_path / "out", made, SETTINGS, lambda done, total: None)
    assert not (
        tmp_path / "out" / "bg-1.0_co_occur_obj-0.75" / "train" / "obj-round_bg-clouds_co_occur_obj-sign"
    ).exists()
    read = read_published(tmp_path / "out", ((1.0, 0.75),), 32)
    assert read.counts(read.plans[0]) == made.counts(made.plans[0])


def spoil(folder, what):
    group = folder / GROUP
    if what == "group":
        shutil.rmtree(group)
    elif what == "mask":
        (group / "000_mask.png").unlink()
    elif what == "only":
        (group / "000_bg_only.png").unlink()
    elif what == "picture":
        (group / "000.jpg").write_bytes(b"no picture")
    elif what == "size":
        Image.new("RGB", (40, 40)).save(group / "000.jpg")
    elif what == "empty mask":
        Image.new("L", (32, 32)).save(group / "000_mask.png")
    elif what == "stranger":
        (folder / "bg-0.5_co_occur_obj-0.5" / "test" / "cats").mkdir()
    elif what == "record":
        (folder / "made.json").write_text(json.dumps({"labels": {kind: ["x", "y"] for kind in KINDS}}))
    elif what == "split":
        shutil.rmtree(folder / "bg-0.5_co_occur_obj-0.5" / "val")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("group", r"obj-round_bg-blocks_co_occur_obj-plant is missing: all eight groups"),
        ("mask", r"000_mask.png is missing: every image needs masks"),
        ("only", r"000_bg_only.png is missing, but others exist"),
        ("picture", r"'000.jpg' is not a readable picture"),
        ("size", r"000.jpg is 40x40 pixels: images and masks must be squares of the same size"),
        ("empty mask", r"000.jpg: the mask of its target is empty"),
        ("stranger", r"cats is not a group folder"),
        ("record", r"made.json has other labels"),
        ("split", r"lacks bg-0.5_co_occur_obj-0.5/val or bg-0.75_co_occur_obj-0.75/val \(found: bg-0.5"),
    ],
)
def test_what_is_wrong_is_named(folder, what, words):
    spoil(folder, what)
    with pytest.raises(InputError, match=words):
        read_published(folder, (PHASE,), 32)


def test_what_a_folder_cannot_give_is_named(folder):
    assert is_published(folder)
    assert not is_published(folder / "contact_sheets")
    inside = folder / "bg-0.75_co_occur_obj-0.75"
    assert is_published(inside)
    with pytest.raises(InputError, match=r"\(found: none\): give the parent folder"):
        read_published(inside, (PHASE,), 32)
    with pytest.raises(
        InputError, match=r"lacks bg-0.95_co_occur_obj-0.95/train \(found: bg-0.5_co_occur_obj-0.5, bg-0.75"
    ):
        read_published(folder, ((0.95, 0.95),), 32)
    with pytest.raises(InputError, match="two cues: give two correlations"):
        read_published(folder, ((0.75, 0.75, 0.5),), 32)
    with pytest.raises(InputError, match="two phases have the same correlations"):
        read_published(folder, (PHASE, PHASE), 32)
    with pytest.raises(InputError, match=r"32x32 pixels: .* at least 64 pixels"):
        read_published(folder, (PHASE,), 64)
