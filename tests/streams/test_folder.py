"""A folder of real image files with a table: what becomes of it, and every bad table in one line with its number."""

from __future__ import annotations

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.plan import plan
from einstellung.results.config import build_config, read_config
from einstellung.streams import Stream, folder, prove

LABELS = {"ant": "T1", "bee": "T1", "cat": "T2", "dog": "T2", "eel": "T2"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))


def picture(path: Path, seed: int, height: int = 20, width: int = 16) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(40, 216, (height, width, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def write_table(root: Path, rows: list[dict[str, object]]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with (root / "labels.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def rows(tmp_path) -> list[dict[str, object]]:
    """Ten training images and three test images of each of five labels, as files and as lines of a table."""
    lines: list[dict[str, object]] = []
    for label, phase in LABELS.items():
        for split, count in (("train", 10), ("test", 3)):
            for number in range(count):
                name = f"{label}/{split}{number}.png"
                picture(tmp_path / name, seed=len(lines))
                lines.append({"file": name, "label": label, "phase": phase, "split": split})
    return lines


def made(root: Path, rows: list[dict[str, object]], **options: object) -> Stream:
    write_table(root, rows)
    cover = str(options.pop("cover", "black"))
    return folder(
        options.pop("cue", PatchCue()), cover, **{"path": str(root), "size": 16, "shortcut": ("dog",), **options}
    )


def test_the_stream_is_the_two_phase_protocol_on_the_users_files(tmp_path, rows):
    stream = made(tmp_path, rows)
    prove(stream).require()
    assert stream.class_names == ("ant", "bee", "dog", "cat", "eel")
    assert [(phase.classes, phase.cue_classes, len(phase.train)) for phase in stream.phases] == [
        ((0, 1), (), 20),
        ((2, 3, 4), (2,), 27),
    ]
    sizes = {split.name: len(split.images) for split in stream.splits}
    assert sizes == {
        "T1_all": 6,
        "T2_shortcut_normal": 3,
        "T2_shortcut_masked": 3,
        "T2_nonshortcut_normal": 6,
        "T2_val": 3,
        "T2_shortcut_clean": 3,
        "T2_nonshortcut_patched": 6,
        "T2_shortcut_elsewhere": 3,
    }
    assert stream.phases[1].train.has_cue.sum() == 9


def test_pixels_labels_and_identities_are_those_of_the_files(tmp_path, rows):
    for number, line in enumerate(rows):
        picture(tmp_path / str(line["file"]), seed=number, height=32, width=48)
    stream = made(tmp_path, rows, size=16)
    for images in (stream.phases[0].train, stream.phases[1].train, stream.split("T2_nonshortcut_normal").images):
        for image, label, index in zip(images.images, images.labels.tolist(), images.index.tolist(), strict=True):
            line = rows[index]
            assert stream.class_names[label] == line["label"]
            with Image.open(tmp_path / str(line["file"])) as file:
                raw = np.asarray(file).astype(float)
            expected = raw.reshape(16, 2, 16, 3, 3).mean(axis=(1, 3))  # every pixel is the mean of 2 x 3
            assert np.abs(image.permute(1, 2, 0).numpy() - expected).max() <= 1


def test_mean_and_spread_are_those_of_both_phases_training_images(tmp_path, rows):
    stream = made(tmp_path, rows)
    train = torch.cat([phase.train.images for phase in stream.phases]).double() / 255
    assert stream.mean == pytest.approx(train.mean(dim=(0, 2, 3)).tolist(), abs=1e-4)
    assert stream.std == pytest.approx(train.std(dim=(0, 2, 3), correction=0).tolist(), abs=1e-4)
    assert stream.facts["normalisation"]["from"] == "the 47 training images of both phases"
    given = made(tmp_path, rows, mean=(0.5, 0.5, 0.5), std=(0.2, 0.2, 0.2), crop_padding=1, flip=False)
    assert (given.mean, given.std, given.crop_padding, given.flip) == ((0.5,) * 3, (0.2,) * 3, 1, False)


def test_validation_images_that_the_table_names_are_taken_as_they_are(tmp_path, rows):
    for line in rows:
        if str(line["file"]).endswith("train0.png"):
            line["split"] = "val"
    stream = made(tmp_path, rows)
    prove(stream).require()
    named = [number for number, line in enumerate(rows) if line["split"] == "val" and line["phase"] == "T2"]
    assert stream.split("T2_val").images.index.tolist() == named
    assert len(stream.split("T1_val").images) == 2
    assert len(stream.phases[1].train) == 27
    with_cue = stream.split("T2_val").images
    assert with_cue.has_cue.tolist() == [label == 2 for label in with_cue.labels.tolist()]


def test_validation_images_of_some_labels_only_are_refused(tmp_path, rows):
    next(line for line in rows if line["label"] == "cat" and line["split"] == "train")["split"] = "val"
    with pytest.raises(InputError, match="label 'dog' of T2 has no image in split 'val'"):
        made(tmp_path, rows)


def test_uneven_classes_are_allowed_and_said(tmp_path, rows):
    del rows[-2:]  # two test images of 'eel'
    proof = prove(made(tmp_path, rows))
    proof.require()
    detail = next(check.detail for check in proof.checks if "equal weight" in check.name)
    assert "T2_nonshortcut_normal 1 to 3" in detail
    assert "but accuracy is averaged over classes" in detail


def test_groups_are_splits_of_their_own_shown_as_the_normal_ones(tmp_path, rows):
    for number, line in enumerate(rows):
        line["group"] = "" if line["label"] == "eel" else ("by night" if number % 2 else "by day")
    stream = made(tmp_path, rows)
    prove(stream).require()
    normal = {
        index: image
        for part in ("shortcut", "nonshortcut")
        for index, image in zip(
            *(lambda s: (s.index.tolist(), s.images))(stream.split(f"T2_{part}_normal").images), strict=True
        )
    }
    seen = []
    for name, words in (("T2_group_by_day", "by day"), ("T2_group_by_night", "by night")):
        images = stream.split(name).images
        for index, image in zip(images.index.tolist(), images.images, strict=True):
            assert rows[index]["group"] == words
            assert torch.equal(image, normal[index])
            seen.append(index)
    wanted = [n for n, line in enumerate(rows) if line["group"] and line["split"] == "test" and line["phase"] == "T2"]
    assert sorted(seen) == wanted
    assert stream.facts["groups"] == {"T2_group_by_day": 3, "T2_group_by_night": 3}


def with_boxes(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Every dog has a logo: four rows below the fifth, eight columns at the right edge, of 20 x 16 pixels."""
    place = {"top": 5, "left": 8, "height": 4, "width": 8}
    return [{**line, **(place if line["label"] == "dog" else dict.fromkeys(place, ""))} for line in rows]


@pytest.mark.parametrize("cover", ["black", "mean", "noise", "blur", "inpaint"])
def test_a_cue_that_is_in_the_pictures_is_covered_and_nothing_is_painted(tmp_path, rows, cover):
    stream = made(tmp_path, with_boxes(rows), cue_in_images=True, cover=cover)
    proof = prove(stream)
    proof.require()
    assert [split.name for split in stream.splits] == [
        "T1_all",
        "T2_shortcut_normal",
        "T2_shortcut_masked",
        "T2_nonshortcut_normal",
        "T2_val",
    ]
    normal, masked = (stream.split(f"T2_shortcut_{kind}").images for kind in ("normal", "masked"))
    changed = (normal.images != masked.images).any(dim=1)
    # 20 rows become 16: rows 5..8 touch rows 4..7 of 16; columns stay as they are
    assert changed.any(dim=0).nonzero().amin(dim=0).tolist() == [4, 8]
    assert changed.any(dim=0).nonzero().amax(dim=0).tolist() == [7, 15]
    if cover == "black":
        assert masked.images[:, :, 4:8, 8:16].max() == 0
    assert not any(bool(phase.train.has_cue.any()) for phase in stream.phases)
    words = " ".join(f"{check.name}: {check.detail}" for check in proof.checks)
    assert "painted on 0 training images" in words
    assert "boxes for 9 of 9 training images of the cue classes, for 0 of 18 others" in words
    assert "image content was not checked" in words
    assert "not checked: whether the cue lies in them" in words


def test_the_proof_sees_a_leak_of_pictures_that_have_their_cue(tmp_path, rows):
    stream = made(tmp_path, with_boxes(rows), cue_in_images=True)
    t1, t2 = stream.phases
    images = t2.train.images.clone()
    images[0] = stream.split("T2_shortcut_normal").images.images[0]
    leaking = replace(stream, phases=(t1, replace(t2, train=replace(t2.train, images=images))))
    with pytest.raises(InputError, match="training and evaluation share no image: 1 shared"):
        prove(leaking).require()


def test_files_are_decoded_once_and_again_when_one_changes(tmp_path, rows, monkeypatch):
    first = made(tmp_path, rows)
    opened: list[object] = []
    real = Image.open
    monkeypatch.setattr(Image, "open", lambda *given, **more: opened.append(given) or real(*given, **more))
    again = made(tmp_path, rows)
    assert not opened
    assert torch.equal(again.phases[0].train.images, first.phases[0].train.images)
    assert again.facts == first.facts
    picture(tmp_path / str(rows[0]["file"]), seed=999)
    changed = made(tmp_path, rows)
    assert len(opened) == len(rows)
    assert not torch.equal(changed.phases[0].train.images, first.phases[0].train.images)
    assert changed.facts["content"] != first.facts["content"]


def cell(number: int, **cells: object):
    def change(rows: list[dict[str, object]]) -> list[dict[str, object]]:
        rows[number - 2].update(cells)
        return rows

    return change


def without(column: str):
    return lambda rows: [{name: value for name, value in row.items() if name != column} for row in rows]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("phase"), r"labels.csv, line 1: column 'phase' is missing \(found: file, label, split\)"),
        (lambda rows: [{**row, "Group": "a"} for row in rows], "line 1: column 'Group' is unknown: did you mean 'group'"),
        (lambda rows: [{**row, "top": "1"} for row in rows], "line 1: a box needs all of the columns top, left"),
        (cell(4, file="nowhere.png"), "labels.csv, line 4: there is no file 'nowhere.png'"),
        (cell(4, file="../secret.png"), "labels.csv, line 4: file '../secret.png' leads out of"),
        (cell(4, file="/etc/passwd"), "labels.csv, line 4: file '/etc/passwd' leads out of"),
        (cell(4, file="C:\\secret.png"), "labels.csv, line 4: file .* leads out of"),
        (cell(4, file="ant/../../secret.png"), "labels.csv, line 4: file .* leads out of"),
        (cell(4, file="link.png"), "labels.csv, line 4: file 'link.png' leads out of"),
        (cell(4, file="ant"), "labels.csv, line 4: there is no file 'ant'"),
        (cell(4, file="ant/train0.png"), "labels.csv, line 4: the same file as in line 2"),
        (cell(4, file="broken.png"), "labels.csv, line 4: 'broken.png' is not a readable picture"),
        (cell(4, file="cut.png"), "labels.csv, line 4: 'cut.png' cannot be read as a picture"),
        (cell(4, file="deep.png"), "labels.csv, line 4: 'deep.png' has more than 8 bits per channel"),
        (cell(4, label=""), "labels.csv, line 4: 'label' is empty"),
        (cell(4, phase="T3"), "labels.csv, line 4: phase is 'T3': there are: T1, T2"),
        (cell(4, split="training"), "labels.csv, line 4: split is 'training': did you mean 'train'"),
        (cell(4, label="dog"), "labels.csv, line 41: label 'dog' is in T2, but in T1 in line 4"),
        (cell(4, superclass="insects"), "labels.csv, line 4: label 'ant' has superclass 'insects', but '' in line 2"),
        (lambda rows: [row for row in rows if row["phase"] == "T1"], "labels.csv names no picture of phase T2"),
        (
            lambda rows: [row for row in rows if (row["label"], row["split"]) != ("cat", "test")],
            "line 28: label 'cat' has no test image",
        ),
        (lambda rows: rows[:0], "labels.csv, line 1: column 'file' is missing"),
        (cell(4, top=1, left=1, height=1, width=""), r"line 4: the box is \(1, 1, 1, \): give top, left"),
        (cell(4, top=-1, left=1, height=1, width=1), r"line 4: the box is \(-1, 1, 1, 1\)"),
        (cell(4, top=1, left=1, height=0, width=2), "line 4: the box is 0 pixels high and 2 wide: it is empty"),
        (cell(4, top=15, left=0, height=6, width=2), "line 4: the box .* exceeds the picture, which is 20 pixels"),
        (lambda rows: cell(38, group="day 1")(cell(39, group="day/1")(rows)), "line 39: group 'day/1' clashes with 'day 1'"),
        (cell(12, file="twin.png"), r"line 12: at 16x16 'twin.png' \(T1 test\) is the same picture as 'train0.png' \(T1 train\)"),
    ],
)  # fmt: skip
def test_a_bad_table_is_one_line_that_names_its_place(tmp_path, rows, change, words):
    (tmp_path / "broken.png").write_text("no picture")
    (tmp_path / "cut.png").write_bytes((tmp_path / "ant/train1.png").read_bytes()[:200])
    Image.fromarray(np.zeros((8, 8), dtype=np.uint16)).save(tmp_path / "deep.png")
    (tmp_path / "twin.png").write_bytes((tmp_path / "ant/train0.png").read_bytes())
    outside = tmp_path.parent / f"{tmp_path.name}-outside.png"
    picture(outside, seed=5)
    (tmp_path / "link.png").symlink_to(outside)
    with pytest.raises(InputError, match=words) as error:
        made(tmp_path, change(rows))
    assert "\n" not in str(error.value)


def test_a_line_of_another_length_and_a_table_that_is_none(tmp_path, rows):
    write_table(tmp_path, rows)
    table = tmp_path / "labels.csv"
    whole = table.read_text()
    for text, words in (
        (whole + "ant/train0.png,ant\n", "line 67: 2 fields where the header has 4"),
        (whole.replace(",", ";"), "column 'file' is missing .* separated by commas"),
        ("\0\0", "binary data"),
        ('file,label,phase,split\n"ant,1', "line 2: "),
        ("file,label,phase,split\n", "names no picture"),
    ):
        table.write_text(text)
        with pytest.raises(InputError, match=words):
            folder(PatchCue(), path=str(tmp_path), shortcut=("dog",))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": ""}, "stream.path is not set"),
        ({"path": "/nowhere/at/all"}, "stream.path is '/nowhere/at/all': there is no such folder"),
        ({"table": "../labels.csv"}, "stream.table '../labels.csv' leads out of"),
        ({"table": "other.csv"}, "cannot read .*other.csv: No such file"),
        ({"size": 4}, "stream.size is 4"),
        ({"validation": 0.0}, "stream.validation is 0.0"),
        ({"validation": 0.01}, "holds out 0 of 10 training images of 'dog'"),
        ({"shortcut": ()}, "stream.shortcut is empty"),
        ({"shortcut": ("dgo",)}, "stream.shortcut names 'dgo', which is not a label of T2: did you mean 'dog'"),
        ({"shortcut": ("ant",)}, "stream.shortcut names 'ant', which is not a label of T2"),
        ({"shortcut": ("cat", "dog", "eel")}, "holds all labels of T2"),
        ({"mean": (0.5, 0.5, 0.5)}, "stream.mean and stream.std go together"),
        ({"mean": (127.0, 127.0, 127.0), "std": (60.0, 60.0, 60.0)}, "stream.mean is .*divide values in 0..255 by 255"),
        ({"mean": (0.5, 0.5, 0.5), "std": (0.2, 0.0, 0.2)}, "stream.std is .*give numbers above 0"),
        ({"crop_padding": -1}, "stream.crop_padding is -1: give 0 to"),
        ({"cue_in_images": True}, "line 51: a test image of the shortcut label 'dog' has no box"),
    ],
)
def test_options_that_cannot_be_met(tmp_path, rows, options, words):
    with pytest.raises(InputError, match=words):
        made(tmp_path, rows, **options)


def test_a_run_is_known_by_what_is_in_the_files_not_by_where_they_lie(tmp_path, rows):
    """And a configuration's path begins where the configuration lies, whatever the working directory is."""
    write_table(tmp_path, rows)
    moved = Path(shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-moved")))
    changed = Path(shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-changed")))
    picture(changed / str(rows[0]["file"]), seed=999)
    keys = []
    for root in (tmp_path, moved, changed):
        study = {"stream": {"name": "folder", "path": ".", "size": 16, "shortcut": ["dog"]}, "methods": ["scratch_t2"]}
        (root / "study.yaml").write_text(yaml.safe_dump({**study, "backbone": {"name": "resnet18", "width": 8}}))
        config = resolve(build_config(read_config(root / "study.yaml")))
        keys.append([job.key for job in plan(config, build_stream(config))])
    assert keys[0] == keys[1] != keys[2]


PHASED = {"ant": "day", "bee": "day", "cat": "dusk", "dog": "dusk", "eel": "night", "fox": "night"}


@pytest.fixture
def phased(tmp_path) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for label, phase in PHASED.items():
        for split, count in (("train", 10), ("test", 3)):
            for number in range(count):
                name = f"{label}/{split}{number}.png"
                picture(tmp_path / name, seed=len(lines))
                box = {"top": 2, "left": 3, "height": 4, "width": 5}
                group = {"group": f"g{number % 2}"} if split == "test" else {}
                lines.append({"file": name, "label": label, "phase": phase, "split": split, **group, **box})
    return lines


THREE = [
    {"name": "day"},
    {"name": "dusk", "shortcut": ["dog"]},
    {"name": "night", "shortcut": ["eel"], "cue": {"size": 2}},
]


def test_a_table_may_name_any_phases(tmp_path, phased):
    write_table(tmp_path, phased)
    stream = folder(PatchCue(size=3), path=str(tmp_path), phases=THREE)
    assert prove(stream).holds, [check for check in prove(stream).checks if check.passed is False]
    assert [phase.name for phase in stream.phases] == ["day", "dusk", "night"]
    assert stream.class_names == ("ant", "bee", "dog", "cat", "eel", "fox")
    assert len(stream.phase("day").train) == 18  # a tenth is held out in every phase
    assert len(stream.split("night_group_g0").images) == 4
    assert stream.cue_of("night") == PatchCue(size=2)


def test_a_cue_in_the_images_of_any_phase_is_covered(tmp_path, phased):
    write_table(tmp_path, phased)
    stream = folder(PatchCue(), path=str(tmp_path), phases=THREE, cue_in_images=True)
    assert prove(stream).holds
    names = {
        split.name for split in stream.splits if not split.name.startswith("night_group") and split.phase == "night"
    }
    assert names == {
        f"night_{part}" for part in ("all", "shortcut_normal", "shortcut_masked", "nonshortcut_normal", "val")
    }


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ([*THREE[:2], {"name": "noon", "shortcut": ["eel"]}], "phase is 'night': there are: day, dusk, noon"),
        ([*THREE, {"name": "noon"}], "names no picture of phase noon"),
        ([{"name": "day", "classes": ["ant"]}, *THREE[1:]], "says which labels day has; leave it out"),
        (
            [THREE[0], {"name": "dusk", "shortcut": ["dgo"]}, THREE[2]],
            "'dgo', which is not a label of dusk: did you mean 'dog'",
        ),
        ([THREE[0], {"name": "dusk", "shortcut": ["cat", "dog"]}, THREE[2]], "holds all classes of dusk"),
    ],
)
def test_phases_that_do_not_fit_the_table_are_one_line(tmp_path, phased, phases, message):
    write_table(tmp_path, phased)
    with pytest.raises(InputError, match=message):
        folder(PatchCue(), path=str(tmp_path), phases=phases)


def test_a_phase_of_the_table_beside_t1_and_t2_is_named(tmp_path, phased):
    write_table(tmp_path, phased)
    with pytest.raises(InputError, match="phase is 'day': there are: T1, T2"):
        folder(PatchCue(), path=str(tmp_path), shortcut=("dog",))
