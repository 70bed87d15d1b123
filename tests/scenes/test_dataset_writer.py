"""A folder of scenes: the published layout, the same bytes from any number of workers, and no work done twice."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from PIL import Image

from einstellung.errors import InputError
from einstellung.scenes import dataset_writer, work_chunks
from einstellung.scenes.dataset_writer import write_dataset
from einstellung.scenes.folders import load_case
from einstellung.scenes.manifest import DatasetSpec
from einstellung.scenes.rendering import render
from einstellung.scenes.rules import PAPER_RULES
from einstellung.scenes.store import scene_set
from einstellung.scenes.work_chunks import RenderSettings

SETTINGS = RenderSettings(PAPER_RULES, size=16, seed=1, backend="numba")
SPEC = DatasetSpec(SETTINGS, ("strict", "unconfounded"), {"train": 3, "val": 1, "test": 2})
IMAGES = 2 * (3 + 1 + 2) * (3 + 1)  # labels, splits, tasks of both variants


def silent(done: int, total: int) -> None:
    """Nobody listens."""


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    """Two scenes each, so that even a small folder has many."""
    monkeypatch.setattr(work_chunks, "CHUNK_SIZE", 2)
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("whole")
    write_dataset(SPEC, root, 1, silent)
    return root


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    return shutil.copytree(whole, tmp_path / "folder")


@pytest.fixture
def written(monkeypatch) -> list[tuple[str, str, int, int, int]]:
    """Every lot that is made."""
    seen: list[tuple[str, str, int, int, int]] = []
    real = dataset_writer.write_chunk

    def write_chunk(chunk, settings, root):
        seen.append((chunk.variant, chunk.split, chunk.task, chunk.label, chunk.first))
        real(chunk, settings, root)

    monkeypatch.setattr(dataset_writer, "write_chunk", write_chunk)
    return seen


def contents(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def test_the_layout_is_the_published_one(whole):
    files = {str(file.relative_to(whole)) for file in whole.rglob("*") if file.is_file()}
    expected = {"made.json"}
    for case, tasks in (("case_strict_main", 3), ("unconfounded", 1)):
        for split, count in SPEC.counts.items():
            expected |= {f"{case}/{split}/scenes.jsonl", f"{case}/{split}/sha256.txt"}
            expected |= {
                f"{case}/{split}/{part}/t{task}/{label}/{number:06d}.png"
                for part in ("images", "masks")
                for task in range(tasks)
                for label in (0, 1)
                for number in range(count)
            }
    assert files == expected
    assert len([name for name in files if "/images/" in name]) == IMAGES


def test_what_is_read_back_is_what_a_set_of_the_same_address_holds(whole):
    for task, found in load_case(whole, "strict", "test").items():
        drawn = scene_set(PAPER_RULES, "strict", "test", task, count=2, size=16, seed=1, backend="numba")
        assert found.names == drawn.names
        assert np.array_equal(found.labels, drawn.labels)
        assert np.array_equal(found.images, drawn.images)
        for part in ("attributes", "position", "rotation", "camera", "lamps"):
            assert np.array_equal(getattr(found.scenes, part), getattr(drawn.scenes, part))


def test_a_record_renders_to_its_own_image_and_mask(whole):
    found = load_case(whole, "strict", "train")[1]
    images, masks = render(found.scenes, 16, "numba")
    assert np.array_equal(images, found.images)
    for name, mask in zip(found.names, masks, strict=True):
        with Image.open(whole / "case_strict_main" / "train" / "masks" / name) as picture:
            assert picture.mode == "L"
            assert np.array_equal(np.asarray(picture), mask)


def test_the_list_names_every_file_with_its_hash(whole):
    manifest = json.loads((whole / "made.json").read_text())
    for case in ("case_strict_main", "unconfounded"):
        for split in SPEC.counts:
            place = whole / case / split
            listed = dict(reversed(line.split("  ")) for line in (place / "sha256.txt").read_text().splitlines())
            files = {str(file.relative_to(place)) for file in place.rglob("*") if file.is_file()}
            assert set(listed) == files - {"sha256.txt"}
            for name, value in listed.items():
                assert hashlib.sha256((place / name).read_bytes()).hexdigest() == value
            known = manifest["cases"][case]["splits"][split]
            assert known["sha256.txt"] == hashlib.sha256((place / "sha256.txt").read_bytes()).hexdigest()


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
def test_the_list_is_one_that_a_common_tool_reads(whole):
    checked = subprocess.run(["sha256sum", "-c", "--quiet", "sha256.txt"], cwd=whole / "unconfounded" / "train")
    assert checked.returncode == 0


def test_two_workers_write_the_same_bytes(whole, tmp_path):
    write_dataset(SPEC, tmp_path, 2, silent)
    assert contents(tmp_path) == contents(whole)


def test_what_is_whole_is_not_made_again(folder, written):
    before = contents(folder)
    on_progress = list[tuple[int, int]]()
    manifest = write_dataset(SPEC, folder, 1, lambda done, total: on_progress.append((done, total)))
    assert written == []
    assert on_progress == [(IMAGES, IMAGES)]
    assert contents(folder) == before
    assert all(case["complete"] for case in manifest["cases"].values())


@pytest.mark.parametrize("stopped_after", [0, 5, 11])
def test_a_stopped_folder_goes_on_where_it_was(stopped_after, whole, tmp_path, monkeypatch, written):
    counted = dataset_writer.write_chunk

    def stopping(chunk, settings, root):
        if len(written) == stopped_after:
            raise KeyboardInterrupt
        counted(chunk, settings, root)

    monkeypatch.setattr(dataset_writer, "write_chunk", stopping)
    with pytest.raises(KeyboardInterrupt):
        write_dataset(SPEC, tmp_path, 1, silent)
    with pytest.raises(InputError, match=r"is incomplete|is missing|has no folder"):
        load_case(tmp_path, "unconfounded", "train")
    monkeypatch.setattr(dataset_writer, "write_chunk", counted)
    write_dataset(SPEC, tmp_path, 1, silent)
    assert len(written) == len(set(written))  # no lot twice
    assert contents(tmp_path) == contents(whole)


def test_what_is_half_is_made_again(tmp_path, whole, monkeypatch, written):
    """Stopped in the middle of a lot, and the file of an earlier one cut by a disk that was full."""
    real, calls = dataset_writer._png, []

    def png(picture):
        calls.append(1)
        if len(calls) == 9:  # the third lot, whose images are written and whose masks are not
            raise KeyboardInterrupt
        return real(picture)

    monkeypatch.setattr(dataset_writer, "_png", png)
    with pytest.raises(KeyboardInterrupt):
        write_dataset(SPEC, tmp_path, 1, silent)
    monkeypatch.setattr(dataset_writer, "_png", real)
    cut = tmp_path / "case_strict_main/train/images/t0/1/000000.png"
    cut.write_bytes(cut.read_bytes()[:20])
    first, second, third = written
    written.clear()
    write_dataset(SPEC, tmp_path, 1, silent)
    assert {first, third} <= set(written)
    assert second not in written
    assert contents(tmp_path) == contents(whole)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


@pytest.mark.parametrize("harm", [cut, Path.unlink])
@pytest.mark.parametrize(
    ("name", "chunks_made"),
    [("images/t0/0/000002.png", 1), ("masks/t0/1/000001.png", 1), ("scenes.jsonl", 4), ("sha256.txt", 4)],
)
def test_a_harmed_folder_is_made_whole_again(harm, name, chunks_made, folder, whole, written):
    harm(folder / "unconfounded" / "train" / name)
    write_dataset(SPEC, folder, 1, silent)
    assert len(written) == chunks_made
    assert contents(folder) == contents(whole)


def test_a_repair_that_gives_other_bytes_is_refused(folder, monkeypatch):
    """As another version of a library might: what the list says is then no longer true of the folder."""
    cut(folder / "unconfounded" / "train" / "images" / "t0" / "1" / "000000.png")
    monkeypatch.setattr(dataset_writer, "_COMPRESSION", 9)
    with pytest.raises(
        InputError, match=r"t0/1/00000\d\.png was rendered differently than before: make the folder again"
    ):
        write_dataset(SPEC, folder, 1, silent)


def test_a_variant_can_be_added_later(folder, whole, written):
    shutil.rmtree(folder / "unconfounded")
    manifest = json.loads((folder / "made.json").read_text())
    del manifest["cases"]["unconfounded"]
    (folder / "made.json").write_text(json.dumps(manifest))
    write_dataset(replace(SPEC, variants=("unconfounded",)), folder, 1, silent)
    assert {chunk[0] for chunk in written} == {"unconfounded"}
    assert contents(folder) == contents(whole)


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        (replace(SPEC, rendering=replace(SETTINGS, size=24)), "size 16, not 24"),
        (replace(SPEC, rendering=replace(SETTINGS, seed=2)), "seed 1, not 2"),
        (replace(SPEC, rendering=replace(SETTINGS, backend="torch")), "backend numba, not torch"),
        (replace(SPEC, rendering=replace(SETTINGS, book=replace(PAPER_RULES, objects=3))), "rules"),
        (replace(SPEC, counts={"train": 3, "val": 1, "test": 3}), "images_per_class_and_task"),
    ],
)
def test_a_folder_made_with_other_settings_is_refused(spec, what, folder):
    before = contents(folder)
    with pytest.raises(InputError, match=f"was made with {what}"):
        write_dataset(spec, folder, 1, silent)
    assert contents(folder) == before


def test_a_case_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "case_strict_main").mkdir()
    with pytest.raises(InputError, match="was not made by this command"):
        write_dataset(SPEC, tmp_path, 1, silent)
    assert list(tmp_path.iterdir()) == [tmp_path / "case_strict_main"]


def test_a_variant_without_any_scene_is_refused_before_anything_is_made(tmp_path):
    twice = replace(PAPER_RULES, confounders=(PAPER_RULES.confounders[0],) * 2)
    spec = replace(SPEC, rendering=replace(SETTINGS, book=twice), variants=("strict", "disjoint"))
    with pytest.raises(InputError, match="the disjoint set of task 0 has no positives"):
        write_dataset(spec, tmp_path / "made", 1, silent)
    assert not (tmp_path / "made").exists()


def test_what_is_begun_of_one_variant_survives_the_making_of_another(tmp_path, whole, monkeypatch, written):
    counted = dataset_writer.write_chunk

    def stopping(chunk, settings, root):
        if len(written) == 3:
            raise KeyboardInterrupt
        counted(chunk, settings, root)

    monkeypatch.setattr(dataset_writer, "write_chunk", stopping)
    with pytest.raises(KeyboardInterrupt):
        write_dataset(SPEC, tmp_path, 1, silent)
    monkeypatch.setattr(dataset_writer, "write_chunk", counted)
    write_dataset(replace(SPEC, variants=("unconfounded",)), tmp_path, 1, silent)
    write_dataset(SPEC, tmp_path, 1, silent)
    assert len(written) == len(set(written))  # no lot twice
    assert contents(tmp_path) == contents(whole)


@pytest.mark.parametrize(
    "text", ["[]", "{}", "5", '{"settings": 3, "cases": {}}', '{"settings": {}, "cases": {"a": {}}}']
)
def test_a_record_that_is_none_is_named(text, folder):
    (folder / "made.json").write_text(text)
    with pytest.raises(InputError, match=r"made\.json is not the manifest of a folder of scenes"):
        write_dataset(SPEC, folder, 1, silent)


def test_two_processes_do_not_make_the_same_folder(tmp_path):
    (tmp_path / ".making").mkdir()
    with FileLock(tmp_path / ".making" / "lock"), pytest.raises(InputError, match="another process is writing"):
        write_dataset(SPEC, tmp_path, 1, silent)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write to .*file"):
        write_dataset(SPEC, tmp_path / "file", 1, silent)
    with pytest.raises(InputError, match="File name too long"):
        write_dataset(SPEC, tmp_path / ("a" * 300), 1, silent)
