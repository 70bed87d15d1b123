"""What describes a folder: sheets to look at, a datasheet with true numbers, and metadata that their validator accepts."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from einstellung.errors import InputError
from einstellung.files import read_json
from einstellung.scenes.contact_sheet import SheetRow, contact_sheet
from einstellung.scenes.dataset_writer import write_dataset
from einstellung.scenes.manifest import DatasetSpec
from einstellung.scenes.rules import PAPER_RULES, ObjectPattern
from einstellung.scenes.summary import write_descriptions
from einstellung.scenes.work_chunks import RenderSettings

SETTINGS = RenderSettings(PAPER_RULES, size=16, seed=1, backend="numba")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("made")
    spec = DatasetSpec(SETTINGS, ("disjoint", "unconfounded"), {"train": 3, "val": 1, "test": 2})
    manifest = write_dataset(spec, root, 1, lambda done, total: None)
    files = write_descriptions(root, manifest, PAPER_RULES)
    assert all(file.is_file() for file in files)
    return root


def test_the_contact_sheet_shows_the_first_images_of_every_class():
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (2, 10, 64, 64, 3), dtype=np.uint8)
    images[:] = images[..., :1, :1, :]  # of one colour each, so that enlarging changes nothing
    rows = [SheetRow(0, 1, images[0]), SheetRow(0, 0, images[1])]
    sheet = np.asarray(contact_sheet(PAPER_RULES, "strict", rows))
    margin, title, step = round(1.45 * 128), round(0.3 * 128), 134
    assert sheet.shape == (title + 2 * step, margin + 8 * step, 3)
    for row in range(2):
        for column in range(8):
            middle = sheet[title + row * step + 64, margin + column * step + 64]
            assert np.array_equal(middle, images[row, column, 0, 0])
        between = sheet[title + row * step + 64, margin + 130]
        assert between.tolist() == [255, 255, 255]
        assert (sheet[title + row * step :, :margin][:128] < 128).any()  # a caption


def test_a_long_caption_stays_next_to_the_images():
    """What lies under the images, or shows in the gaps between them, cannot be read."""
    rule = (
        ObjectPattern(shape="cylinder", size="large", material="rubber", color="yellow"),
        ObjectPattern(color="blue"),
    )
    book = replace(PAPER_RULES, confounders=(rule,))
    sheet = np.asarray(contact_sheet(book, "strict", [SheetRow(0, 1, np.zeros((8, 64, 64, 3), dtype=np.uint8))]))
    margin, title = round(1.45 * 128), round(0.3 * 128)
    for column in range(8):
        left = margin + column * 134
        assert (sheet[title : title + 128, left + 128 : left + 134] == 255).all()
    dark = (sheet[title + 64 : title + 128, :margin] < 200).any(axis=(1, 2))
    assert np.flatnonzero(np.diff(dark.astype(int)) == 1).size >= 2  # lines
    assert (sheet[title : title + 128, margin - 4 : margin] == 255).all()


def test_sheets_of_made_folders(folder):
    for case, rows in (("case_disjoint_main", 6), ("unconfounded", 2)):
        with Image.open(folder / case / "contact_sheet.png") as sheet:
            assert sheet.height == round(0.3 * 128) + rows * 134
            first = np.asarray(sheet)[round(0.3 * 128) : round(0.3 * 128) + 128, round(1.45 * 128) :][:, :128]
        with Image.open(folder / case / "train" / "images" / "t0" / "1" / "000000.png") as image:
            expected = np.asarray(image.resize((128, 128), Image.Resampling.BICUBIC))
        assert np.array_equal(first, expected)


def test_the_datasheet_counts_what_is_there(folder):
    text = (folder / "datasheet.md").read_text()
    assert "48 pictures of 16x16 pixels" in text
    assert "**sphere and small cube**" in text
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith(("| case_", "| unconfounded"))
    ]
    assert [row[:6] for row in rows[:2]] == [
        ["case_disjoint_main", "T1", "1", "3", "1", "2"],
        ["case_disjoint_main", "T1", "0", "3", "1", "2"],
    ]
    assert len(rows) == 8
    truths = {tuple(row[1:3]): [float(cell) for cell in row[6:]] for row in rows if row[0] == "case_disjoint_main"}
    assert truths == {
        ("T1", "1"): [1, 1, 0, 0],
        ("T1", "0"): [0, 0, 0, 0],
        ("T2", "1"): [1, 0, 1, 0],
        ("T2", "0"): [0, 0, 0, 0],
        ("T3", "1"): [1, 0, 0, 1],
        ("T3", "0"): [0, 0, 0, 0],
    }
    assert [row[6] for row in rows[-2:]] == ["1.000", "0.000"]


def test_the_numbers_come_from_the_records_and_not_from_the_order(folder, tmp_path):
    """A positive without its confounder, put there by hand, shows."""
    root = shutil.copytree(folder, tmp_path / "changed")
    records = root / "case_disjoint_main" / "train" / "scenes.jsonl"
    lines = records.read_text().splitlines()
    first = json.loads(lines[0])
    for one in first["objects"]:
        one["color"] = "red"
    records.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    write_descriptions(root, read_json(root / "made.json"), PAPER_RULES)
    line = next(
        one for one in (root / "datasheet.md").read_text().splitlines() if one.startswith("| case_disjoint_main")
    )
    assert line.split("|")[7:9] == [" 1.000 ", " 0.833 "]


def test_a_picture_that_cannot_be_shown_is_named(folder, tmp_path):
    root = shutil.copytree(folder, tmp_path / "harmed")
    (root / "unconfounded/train/images/t0/1/000001.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"000001\.png is not a readable image"):
        write_descriptions(root, read_json(root / "made.json"), PAPER_RULES)


def test_the_metadata_say_what_the_format_asks_for(folder):
    """The format's own validator says more: tests/bridges_environment/test_croissant.py, by ``make test-bridges``."""
    found = read_json(folder / "croissant.json")
    assert {"@context", "@type", "name", "description", "conformsTo", "license", "url", "datePublished"} <= set(found)
    kinds = [one["@type"] for one in found["distribution"]]
    assert kinds.count("cr:FileSet") == 3
    assert kinds.count("cr:FileObject") == 2 * 2 * 3
    for one in found["distribution"]:
        if one["@type"] == "cr:FileObject":
            assert re.fullmatch("[0-9a-f]{64}", one["sha256"])
            assert (folder / one["contentUrl"]).is_file()
        else:
            assert list(folder.glob(one["includes"]))
    pictures = {one["@id"]: one for one in found["recordSet"]}["pictures"]
    path = "case_disjoint_main/val/images/t2/1/000000.png"
    caught = {}
    for field in pictures["field"]:
        if pattern := field["source"].get("transform", {}).get("regex"):
            caught[field["name"]] = re.search(pattern, path).groups()
    assert caught == {
        "pictures/case": ("case_disjoint_main",),
        "pictures/split": ("val",),
        "pictures/task": ("2",),
        "pictures/label": ("1",),
    }
