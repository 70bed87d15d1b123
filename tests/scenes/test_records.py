"""A record holds its scene to the last bit, and a wrong one is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.scenes.records import read_records, scene_record, scenes_from_records
from einstellung.scenes.scene import Scenes

HERE = Path("scenes.jsonl")


def scenes(count: int = 3) -> Scenes:
    generator = np.random.default_rng(0)
    return Scenes(
        generator.integers([3, 2, 2, 8], size=(count, 4, 4)).astype(np.uint8),
        generator.uniform(-3, 3, (count, 4, 2)),
        generator.uniform(0, 2 * np.pi, (count, 4)),
        generator.uniform(-1, 1, (count, 3)),
        generator.uniform(-1, 1, (count, 3, 3)),
    )


def test_every_number_comes_back():
    before, places = scenes(), np.array([[0, 1, 2, 3]] * 3, dtype=np.uint8)
    names = [f"t1/0/{row}.png" for row in range(3)]
    lines = [scene_record(name, 1, 0, before, places, row) for row, name in enumerate(names)]
    parsed = scenes_from_records(names, {name: json.loads(line) for name, line in zip(names, lines, strict=True)}, HERE)
    assert parsed.scenes is not None
    for part in Scenes.__dataclass_fields__:
        assert np.array_equal(getattr(parsed.scenes, part), getattr(before, part))
    assert np.array_equal(parsed.places, places)
    backwards = scenes_from_records(
        names[::-1], {name: json.loads(line) for name, line in zip(names, lines, strict=True)}, HERE
    )
    assert np.array_equal(backwards.attributes, before.attributes[::-1])


def test_a_record_by_hand():
    one = Scenes(
        np.array([[[0, 1, 1, 2], [1, 0, 0, 0]]], dtype=np.uint8),
        np.array([[[1.0, -2.0], [0.5, 0.25]]]),
        np.array([[np.pi / 2, 0.0]]),
        np.array([[0.1, 0.2, 0.3]]),
        np.arange(9.0).reshape(1, 3, 3),
    )
    found = json.loads(scene_record("t0/1/000000.png", 0, 1, one, None, 0))
    assert found["image"] == "t0/1/000000.png"
    assert (found["task"], found["label"]) == (0, 1)
    cube, sphere = found["objects"]
    assert {key: cube[key] for key in ("shape", "size", "material", "color")} == {
        "shape": "cube",
        "size": "large",
        "material": "metal",
        "color": "blue",
    }
    assert cube["position"] == [1.0, -2.0, pytest.approx(0.7 / 2**0.5)]  # half a side above the ground
    assert cube["rotation"] == 90.0
    assert sphere["position"] == [0.5, 0.25, 0.35]
    assert found["camera"] == [0.1, 0.2, 0.3]
    assert found["lamps"] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert "side" not in cube


def test_records_without_a_layout_give_attributes():
    parsed = scenes_from_records(
        ["a"], {"a": {"objects": [{"shape": "cube", "size": "small", "material": "metal", "color": "red"}]}}, HERE
    )
    assert parsed.attributes.tolist() == [[[0, 0, 1, 1]]]
    assert parsed.scenes is None
    assert parsed.places is None


GOOD = {"shape": "cube", "size": "small", "material": "metal", "color": "red"}


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({}, "the image a has no record"),
        ({"a": {"objects": [{"shape": "cube"}]}}, "the image a has a record without 'size'"),
        ({"a": {"objects": [GOOD | {"color": "pink"}]}}, "the record of a is invalid"),
        ({"a": {"objects": []}}, "different numbers of objects"),
        ({"a": {}}, "the image a has a record without 'objects'"),
    ],
)
def test_a_wrong_record_is_named(records, message):
    with pytest.raises(InputError, match=message):
        scenes_from_records(["a"], records, HERE)


def test_scenes_with_different_numbers_of_objects_are_named():
    with pytest.raises(InputError, match="different numbers of objects"):
        scenes_from_records(["a", "b"], {"a": {"objects": [GOOD]}, "b": {"objects": [GOOD, GOOD]}}, HERE)


@pytest.mark.parametrize("line", ["{", "[" * 100_000, "9" * 5_000, "[]", '"word"', "{}", '{"task": 1}'])
def test_a_line_that_is_no_record_is_named(line, tmp_path):
    file = tmp_path / "scenes.jsonl"
    file.write_text('{"image": "a"}\n' + line + "\n")
    with pytest.raises(InputError, match=r"scenes\.jsonl, line 2: not a record of an image"):
        read_records(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        read_records(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{}\n")
    with pytest.raises(InputError, match="cannot read"):
        read_records(tmp_path / "bytes")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda one: one["objects"][2].pop("radians"), "the image b has a record without 'radians'"),
        (lambda one: one["objects"][1].update(position=[1.0]), "the record of b is invalid"),
        (lambda one: one["objects"][1].update(position=[1.0, float("nan"), 0.0]), "the record of b is invalid"),
        (lambda one: one.update(camera=[1, 2]), r"the record of b is invalid \(\[1, 2\] should be 3 numbers\)"),
        (lambda one: one.update(lamps=[1, 2, 3]), "should be 3 x 3 numbers"),
        (lambda one: one["objects"][3].update(side="middle"), "the record of b is invalid"),
    ],
)
def test_a_wrong_layout_is_named_by_its_own_image(harm, message):
    before, places = scenes(), np.zeros((3, 4), dtype=np.uint8)
    records = {name: json.loads(scene_record(name, 0, 1, before, places, row)) for row, name in enumerate("abc")}
    harm(records["b"])
    with pytest.raises(InputError, match=message):
        scenes_from_records(list("abc"), records, HERE)


def test_two_records_of_one_image_are_refused(tmp_path):
    (tmp_path / "scenes.jsonl").write_text('{"image": "a"}\n{"image": "b"}\n{"image": "a"}\n')
    with pytest.raises(InputError, match=r"scenes\.jsonl, line 3: a has a second record"):
        read_records(tmp_path / "scenes.jsonl")
