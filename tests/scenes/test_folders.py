"""Published folders and ours are read alike; whatever is wrong with one is told in a line."""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from einstellung.errors import InputError
from einstellung.scenes.folders import load_case


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))


def colour(task: int, label: int, number: int) -> tuple[int, int, int]:
    return 10 + task, 100 * label, number


@pytest.fixture
def published(tmp_path) -> Path:
    """Two tasks with three positives and two negatives each, named as the authors name theirs."""
    root = tmp_path / "concon"
    for task in range(2):
        for label, count in ((0, 2), (1, 3)):
            place = root / "case_strict_main" / "train" / "images" / f"t{task}" / str(label)
            place.mkdir(parents=True)
            for number in range(count):
                name = f"img_conf_taskid_{task}_{number:06d}.png"
                Image.new("RGB", (8, 8), colour(task, label, number)).save(place / name)
    return root


def at(root: Path, task: int = 0, label: int = 1) -> Path:
    return root / "case_strict_main" / "train" / "images" / f"t{task}" / str(label)


def test_the_label_is_the_folders_name(published):
    sets = load_case(published, "strict", "train")
    assert list(sets) == [0, 1]
    for task, found in sets.items():
        assert found.labels.tolist() == [1, 1, 1, 0, 0]
        assert found.images.shape == (5, 8, 8, 3)
        expected = [colour(task, 1, number) for number in range(3)] + [colour(task, 0, number) for number in range(2)]
        assert [tuple(image[3, 4]) for image in found.images] == expected
        assert found.names[0] == f"t{task}/1/img_conf_taskid_{task}_000000.png"
        assert found.names[-1] == f"t{task}/0/img_conf_taskid_{task}_000001.png"
        assert (found.scenes, found.attributes, found.places, found.masks) == (None, None, None, None)


def test_other_names_of_the_same_folder(published):
    expected = load_case(published, "strict", "train")[1]
    inside = load_case(published / "case_strict_main", "strict", "train")[1]
    assert np.array_equal(inside.images, expected.images)
    (published / "case_strict_main").rename(published / "strict")
    alias = load_case(published, "strict", "train")[1]
    assert np.array_equal(alias.images, expected.images)
    assert alias.names == expected.names


def test_images_can_be_read_smaller(published):
    at(published)
    with Image.open(at(published) / "img_conf_taskid_0_000000.png") as picture:
        striped = np.asarray(picture).copy()
    striped[:, ::2] = 200
    Image.fromarray(striped).save(at(published) / "img_conf_taskid_0_000000.png")
    found = load_case(published, "strict", "train", size=4)[0]
    assert found.images.shape == (5, 4, 4, 3)
    assert found.images[0, 0, 0].tolist() == [105, 150, 100]  # the mean of the stripes
    with pytest.raises(InputError, match="8 pixels wide: cannot be averaged down to 16"):
        load_case(published, "strict", "train", size=16)


def test_litter_of_file_managers_is_no_image(published):
    (published / "__MACOSX").mkdir()
    (at(published).parent / ".DS_Store").touch()
    (at(published) / "._img_conf_taskid_0_000000.png").touch()
    (at(published).parent.parent / ".hidden").mkdir()
    assert len(load_case(published, "strict", "train")[0]) == 5


def test_records_give_scenes(published):
    objects = [{"shape": "cube", "size": "small", "material": "metal", "color": "red"}]
    names = [name for found in load_case(published, "strict", "train").values() for name in found.names]
    lines = [json.dumps({"image": name, "objects": objects}) for name in names]
    records = published / "case_strict_main" / "train" / "scenes.jsonl"
    records.write_text("\n".join(lines) + "\n")
    found = load_case(published, "strict", "train")[1]
    assert found.attributes.tolist() == [[[0, 0, 1, 1]]] * 5
    assert found.scenes is None
    records.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(InputError, match=r"scenes\.jsonl: the image t1/0/.*000001\.png has no record"):
        load_case(published, "strict", "train")


def no_folder(root: Path) -> None:
    shutil.rmtree(root)


def only_a_zip(root: Path) -> None:
    shutil.rmtree(root / "case_strict_main")
    (root / "case_strict_main.zip").touch()


def another_case(root: Path) -> None:
    (root / "case_strict_main").rename(root / "case_disjoint_main")


def no_split(root: Path) -> None:
    (root / "case_strict_main" / "train").rename(root / "case_strict_main" / "test")


def no_first_task(root: Path) -> None:
    shutil.rmtree(at(root).parent)


def no_task(root: Path) -> None:
    shutil.rmtree(at(root).parent.parent)
    at(root).parent.parent.mkdir()


def a_foreign_task(root: Path) -> None:
    at(root).parent.rename(at(root).parent.parent / "task0")


def no_negatives(root: Path) -> None:
    shutil.rmtree(at(root, 1, 0))


def a_third_label(root: Path) -> None:
    (at(root).parent / "2").mkdir()


def no_image(root: Path) -> None:
    for file in at(root).iterdir():
        file.rename(file.with_suffix(".txt"))


def half_an_image(root: Path) -> None:
    file = sorted(at(root).iterdir())[1]
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(file)
    file.write_bytes(file.read_bytes()[:90])


def no_picture(root: Path) -> None:
    sorted(at(root).iterdir())[0].write_text("words")


def another_size(root: Path) -> None:
    Image.new("RGB", (9, 9)).save(sorted(at(root, 1, 0).iterdir())[1])


def not_square(root: Path) -> None:
    for task in range(2):
        for label in range(2):
            for file in at(root, task, label).iterdir():
                Image.new("RGB", (8, 6)).save(file)


def not_finished(root: Path) -> None:
    case = {"variant": "strict", "complete": False, "splits": {}}
    (root / "made.json").write_text(json.dumps({"settings": {}, "cases": {"case_strict_main": case}}))


def no_record_of_the_folder(root: Path) -> None:
    (root / "made.json").write_text(json.dumps({"cases": {"case_strict_main": {}}}))


def a_task_of_another_size(root: Path) -> None:
    for file in at(root, 1).parent.rglob("*.png"):
        Image.new("RGB", (9, 9)).save(file)


def a_picture_too_large_to_be_one(root: Path) -> None:
    head = b"IHDR" + (100_000).to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0"
    start = b"\x89PNG\r\n\x1a\n\0\0\0\r" + head + zlib.crc32(head).to_bytes(4, "big")
    (at(root) / "img_conf_taskid_0_000000.png").write_bytes(
        start + b"\0\0\0\0IDAT" + zlib.crc32(b"IDAT").to_bytes(4, "big")
    )


def records_of_a_lost_task(root: Path) -> None:
    item = {"shape": "cube", "size": "small", "material": "metal", "color": "red"}
    images = root / "case_strict_main" / "train" / "images"
    names = [str(file.relative_to(images)) for file in images.rglob("*.png")] + ["t2/0/a.png", "t2/1/a.png"]
    lines = [json.dumps({"image": name, "objects": [item]}) + "\n" for name in names]
    (images.parent / "scenes.jsonl").write_text("".join(lines))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (no_folder, "concon: no such folder"),
        (only_a_zip, r"holds case_strict_main\.zip: unpack it there"),
        (
            another_case,
            "has no folder case_strict_main or strict, it holds case_disjoint_main: this variant is missing",
        ),
        (no_split, "train/images is missing"),
        (no_first_task, "images lacks t0 but has t1"),
        (no_task, "has no task folder"),
        (a_foreign_task, "task0 is not a task folder"),
        (no_negatives, "t1/0 is missing: every task needs images of both labels"),
        (a_third_label, r"t0/2 is not a label folder: .* may only hold 1 \(positive\) and 0 \(negative\)"),
        (no_image, "t0/1 has no PNG file"),
        (half_an_image, r"_000001\.png' cannot be read as a picture"),
        (no_picture, r"_000000\.png is not a readable image"),
        (another_size, r"t1/0/img_conf_taskid_1_000001\.png is 9x9 pixels, .* is 8x8: all must have the same size"),
        (not_square, "is 8x6 pixels: images must be square"),
        (not_finished, "case_strict_main is incomplete: rerun the command that makes it to resume"),
        (no_record_of_the_folder, r"made\.json is not the manifest of a folder of scenes"),
        (a_task_of_another_size, "t1: images are 9 pixels wide, those of t0 8: all must have the same size"),
        (a_picture_too_large_to_be_one, r"_000000\.png is not a readable image"),
        (records_of_a_lost_task, r"scenes\.jsonl lists t2/0/a\.png, which does not exist \(2 in all\)"),
    ],
)
def test_errors_are_one_clear_line(harm, message, published):
    harm(published)
    with pytest.raises(InputError, match=message) as caught:
        load_case(published, "strict", "train")
    assert "\n" not in str(caught.value)


def test_words_that_do_not_exist(published):
    with pytest.raises(InputError, match="unknown variant 'loose': give one of strict, disjoint, unconfounded"):
        load_case(published, "loose", "train")
    with pytest.raises(InputError, match="unknown split 'valid': give one of train, val, test"):
        load_case(published, "strict", "valid")


def test_sizes_that_do_not_exist(published):
    for size in (0, -1):
        with pytest.raises(InputError, match=f"size is {size}"):
            load_case(published, "strict", "train", size=size)
