"""``cover: from-audit``: what an audit found is covered, in every stream that plants a cue or has one in its images."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.plan import plan
from einstellung.files import write_json
from einstellung.results.config import build_config
from einstellung.sources.found_boxes import Stored, read_found_boxes
from einstellung.streams import Stream, prove

from .test_folder import own_cache, rows, write_table  # noqa: F401 (fixtures)

NAMES = {0: "ant", 1: "dog", 2: "cat", 3: "eel"}
WHOLE = {"preparation": {"size": 8, "resize": 8, "squash": True}}


def finding(label: int, box: list[int] | None, strength: float = 5.0, **changes: object) -> dict[str, object]:
    common = {"class": label, "kind": "localised", "images": [], "shared_with": []}
    return {**common, "input_box": box, "strength": strength, **changes}


def audit_file(folder: Path, findings: list[dict[str, object]], **changes: object) -> str:
    values = {"models": {"net": {"findings": findings}}, "image_names": [], "class_names": NAMES}
    values |= {"image_size": [8, 8], "settings": WHOLE} | changes
    return str(write_json(folder / "audit.json", values).parent)


@pytest.fixture
def found(tmp_path) -> str:
    """In pictures of 8 x 8: a fixed box for dogs, and one that moves for cats, of which it names files."""
    moving = [{"index": row, "input_box": [4, 4, 2, 2]} for row in range(3)]
    findings = [
        finding(1, [0, 2, 2, 4]),
        finding(1, [6, 6, 1, 1], strength=2.0),
        finding(2, None, images=moving),
        finding(3, None, kind="global"),
    ]
    names = [f"cat/test{number}.png" for number in range(3)]
    return audit_file(tmp_path / "found", findings, image_names=names)


def pictures(root: Path, rows: list[dict[str, object]], audit: str, **options: object) -> Stream:  # noqa: F811
    write_table(root, rows)
    stream = {"name": "folder", "path": str(root), "size": 16, "shortcut": ["dog"], "cue_in_images": True} | options
    config = {"stream": stream, "cover": "from-audit", "audit": audit, "training": {"epochs": [1, 1]}}
    return build_stream(resolve(build_config(config)))


def covered(stream: Stream) -> torch.Tensor:
    before, after = (stream.split(f"T2_shortcut_{name}").images.images for name in ("normal", "masked"))
    return (before != after).any(dim=1)


def test_pictures_with_a_cue_and_no_boxes(tmp_path, rows, found):  # noqa: F811
    stream = pictures(tmp_path, rows, found)
    expected = torch.zeros(16, 16, dtype=torch.bool)
    expected[0:4, 4:12] = True  # the strongest finding, at twice the size
    assert (covered(stream) == expected).all()
    proof = prove(stream)
    proof.require()
    check = next(check for check in proof.checks if "boxes that an audit found" in check.name)
    assert check.passed
    assert "covers exactly the found boxes' 32 pixels" in check.detail
    assert stream.facts["proxy"]["classes"]["dog"] == [0, 2, 2, 4]
    assert stream.facts["proxy"]["area"] == pytest.approx((8 + 3 * 4) / 4 / 64, abs=1e-4)


def test_a_cue_that_moves_is_covered_where_each_picture_has_it(tmp_path, rows, found):  # noqa: F811
    expected = torch.zeros(16, 16, dtype=torch.bool)
    expected[8:12, 8:12] = True
    assert (covered(pictures(tmp_path, rows, found, shortcut=["cat"])) == expected).all()


def test_pictures_that_the_model_cropped_are_covered_in_pixels_of_the_file(tmp_path, rows):  # noqa: F811
    """Files of 20 x 16 are resized to 10 x 8, of which the model sees rows 1 to 8."""
    cropped = {"preparation": {"size": 8, "resize": 8, "squash": False}}
    stream = pictures(tmp_path, rows, audit_file(tmp_path / "found", [finding(1, [0, 0, 4, 8])], settings=cropped))
    expected = torch.zeros(16, 16, dtype=torch.bool)
    expected[1:8, :] = True  # rows 2 to 9 of 20, at 16 rows, rounded outwards
    assert (covered(stream) == expected).all()


SHAPES = {
    "stream": {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 4},
    "cue": {"size": 4},
    "cover": "from-audit",
    "training": {"epochs": [1, 1]},
    "methods": ["sgd"],
    "seeds": [1],
}


def of_shapes(folder: Path, box: list[int], **changes: object) -> str:
    names = dict(enumerate(build_stream(resolve(build_config({**SHAPES, "cover": "black"}))).class_names))
    findings = [finding(label, box) for label in names]
    return audit_file(folder, findings, class_names=names, image_size=[12, 12], settings={}, **changes)


def test_a_planted_cue_is_covered_where_the_audit_found_it(tmp_path):
    config = resolve(build_config({**SHAPES, "audit": of_shapes(tmp_path / "one", [0, 0, 3, 4])}))
    stream = build_stream(config)
    expected = torch.zeros(12, 12, dtype=torch.bool)
    expected[0:3, 0:4] = True
    assert (covered(stream) == expected).all()
    proof = prove(stream)
    proof.require()
    details = " ".join(check.detail for check in proof.checks)
    assert "covers exactly the found boxes' 12 pixels, which hold 75 % of the planted cue" in details
    other = resolve(build_config({**SHAPES, "audit": of_shapes(tmp_path / "two", [0, 0, 4, 4])}))
    moved = resolve(build_config({**SHAPES, "audit": of_shapes(tmp_path / "three", [0, 0, 3, 4])}))
    keys = [[job.key for job in plan(one, build_stream(one)) if job.kind == "run"] for one in (config, other, moved)]
    assert keys[0] == keys[2] != keys[1]  # a run is known by the boxes, not by where the audit lies


def test_a_mask_that_misses_the_found_boxes_fails_the_proof(tmp_path):
    stream = build_stream(resolve(build_config({**SHAPES, "audit": of_shapes(tmp_path, [0, 0, 3, 4])})))
    stream.split("T2_shortcut_masked").images.images[0, :, 11, 11] ^= 255
    failed = [check for check in prove(stream).checks if check.passed is False]
    assert any("outside the cue in 1 of" in check.detail for check in failed)


def test_classes_that_share_a_cue_share_its_box(tmp_path):
    found = read_found_boxes(Path(audit_file(tmp_path, [finding(1, [0, 0, 2, 2], shared_with=[3])])))
    image = Stored("x.png", 8, 8)
    assert [found.box(name, image) for name in ("dog", "eel", "cat")] == [(0, 0, 2, 2), (0, 0, 2, 2), None]


def test_files_of_one_name_in_several_folders_are_told_by_their_folders(tmp_path):
    images = [{"index": row, "input_box": [row, 0, 2, 2]} for row in range(3)]
    names = ["a/1.png", "b/1.png", "2.png"]
    found = read_found_boxes(Path(audit_file(tmp_path, [finding(1, None, images=images)], image_names=names)))
    tops = {name: found.input_box("dog", name) for name in ("a/1.png", "test/b/1.png", "1.png", "c/2.png")}
    assert tops == {"a/1.png": (0, 0, 2, 2), "test/b/1.png": (1, 0, 2, 2), "1.png": None, "c/2.png": (2, 0, 2, 2)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shortcut": ["eel"]}, r"has no box for image eel/test0.png of the class 'eel' \(split T2_shortcut_masked\)"),
        ({"shortcut": ["dog", "eel"]}, "has no box for image eel/test0.png of the class 'eel'"),
    ],
)
def test_classes_without_a_found_box_are_refused(tmp_path, rows, found, options, message):  # noqa: F811
    with pytest.raises(InputError, match=message):
        pictures(tmp_path, rows, found, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": {}}, "the audit found no localised cue"),
        ({"image_size": None}, "is not the file of an audit"),
        ({"class_names": {}}, "is not the file of an audit"),
    ],
)
def test_audits_without_usable_boxes_are_refused(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        read_found_boxes(Path(audit_file(tmp_path, [finding(1, [0, 0, 2, 2])], **changes)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"audit": None}, "cover is from-audit: give 'audit', the folder that"),
        ({"cover": "black", "audit": "x"}, "audit is given, but cover is 'black'"),
        ({"cue": {"habit": "same"}, "audit": "x"}, "has no box"),
    ],
)
def test_from_audit_and_its_audit_go_together(tmp_path, changes, message):
    if changes.get("cue"):  # T1's classes have the cue, too, and an audit of T2's images cannot find it
        content = read_names = dict(
            enumerate(build_stream(resolve(build_config({**SHAPES, "cover": "black"}))).class_names)
        )
        findings = [finding(label, [0, 0, 4, 4]) for label in list(content)[len(content) // 2 :]]
        changes = {**changes, "audit": audit_file(tmp_path, findings, class_names=read_names, image_size=[12, 12])}
    with pytest.raises(InputError, match=message):
        build_stream(resolve(build_config({**SHAPES, **changes})))
