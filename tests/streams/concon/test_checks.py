"""The proof of tasks with a confounder each can fail: every check finds what was broken on purpose."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from einstellung.scenes.rules import PAPER_RULES, ObjectPattern, RuleBook
from einstellung.streams import prove
from einstellung.streams.concon import concon
from einstellung.streams.concon.checks import CHECKS
from einstellung.streams.concon.task_datasets import TaskDatasets, resolved_options
from tests.streams.concon.conftest import FEW, strict_datasets


def checked(number, stream, scenes, variant="strict"):
    return CHECKS[number](PAPER_RULES, variant, scenes)(stream)


@pytest.fixture(scope="module")
def scenes(tables):
    """The scenes behind the tables, by phase and split."""
    datasets, found = strict_datasets(), {}
    for task, phase in enumerate(tables.phases):
        found[phase.name] = datasets.split("strict", "train", task).scenes
        found[f"{phase.name}_val"] = datasets.split("strict", "val", task).scenes
        test = datasets.split("strict", "test", task)
        for word, label, insert in (("positive", 1, False), ("negative", 0, True)):
            own = test.of_label(label)
            found[f"{phase.name}_{word}"] = own.scenes
            paired, twin = datasets.twins(own, task, insert)
            found[f"{phase.name}_{word}_paired"], found[f"{phase.name}_{word}_twin"] = paired.scenes, twin.scenes
    free = datasets.split("unconfounded", "test", 0)
    found["unconfounded_positive"], found["unconfounded_negative"] = (free.of_label(label).scenes for label in (1, 0))
    return found


def test_the_checks_pass_on_what_the_stream_is_made_of(tables, scenes):
    passed = [checked(number, tables, scenes).passed for number in range(len(CHECKS))]
    assert passed == [True, True, True, None, True, True]  # tables have no pictures to compare


def test_a_flipped_label_breaks_its_rule(tables, scenes):
    labels = scenes["T2"].labels.copy()
    labels[0] = 1 - labels[0]
    found = checked(0, tables, {**scenes, "T2": replace(scenes["T2"], labels=labels)})
    assert not found.passed
    assert found.detail == "1 of 80 scenes of T2 violate their rule"


def test_strict_scenes_are_no_disjoint_ones(tables, scenes):
    assert not checked(0, tables, scenes, "disjoint").passed


def test_a_confounder_in_a_negative_is_found(tables, scenes):
    swapped = {**scenes, "T1_negative": scenes["T1_negative_twin"]}
    found = checked(1, tables, swapped)
    assert not found.passed
    assert found.detail.startswith("'blue' is right on 50.0% of T1")


def test_twins_that_are_no_twins_are_found(tables, scenes):
    same = {**scenes, "T3_positive_twin": scenes["T3_positive_paired"]}
    found = checked(2, tables, same)
    assert "T3_positive: the confounder did not change in some twins" in found.detail
    assert "T3_positive: some twins are identical to their original" in found.detail
    other = np.roll(scenes["T1_negative_twin"].attributes, 1, axis=2) % 2  # scenes of something else
    assert not checked(
        2, tables, {**scenes, "T1_negative_twin": replace(scenes["T1_negative_twin"], attributes=other)}
    ).passed


@pytest.mark.parametrize("insert", [False, True])
def test_twins_of_other_scenes_are_found(tables, scenes, insert):
    """One place further, they have g and their confounder as they should, and everything else is another scene's."""
    key = f"T1_{'negative' if insert else 'positive'}_twin"
    rolled = np.roll(scenes[key].attributes, 1, axis=0)
    found = checked(2, tables, {**scenes, key: replace(scenes[key], attributes=rolled)})
    assert not found.passed
    assert "attributes other than the confounder's changed in some twins" in found.detail


@pytest.mark.parametrize("word", ["positive", "negative"])
def test_a_twin_in_which_an_object_without_the_confounder_changed_is_found(tables, scenes, word):
    """One that is blue neither before nor after has another colour."""
    before, after = scenes[f"T1_{word}_paired"].attributes, scenes[f"T1_{word}_twin"].attributes.copy()
    scene, thing = np.argwhere((before[..., 3] != 2) & (after[..., 3] != 2))[0]
    after[scene, thing, 3] = 0 if before[scene, thing, 3] else 1
    found = checked(2, tables, {**scenes, f"T1_{word}_twin": replace(scenes[f"T1_{word}_twin"], attributes=after)})
    assert found.detail == f"T1_{word}: objects without the confounder changed in some twins"


@pytest.mark.parametrize("what", ["position", "rotation", "camera", "lamps"])
def test_a_twin_that_was_moved_is_found(pictures, what):
    _, drawn, _ = pictures
    datasets = TaskDatasets(
        PAPER_RULES, "strict", "pixels", resolved_options({"train": 3, "val": 2, "test": 4}, 32, 7, "numba"), None, None
    )
    found = {}
    for task, phase in enumerate(drawn.phases):
        for word, label, insert in (("positive", 1, False), ("negative", 0, True)):
            own = datasets.split("strict", "test", task).of_label(label)
            found[f"{phase.name}_{word}"] = own.scenes
            if pair := datasets.twins(own, task, insert):
                found[f"{phase.name}_{word}_paired"], found[f"{phase.name}_{word}_twin"] = (one.scenes for one in pair)
    assert checked(2, drawn, found).passed
    twin = found["T1_positive_twin"]
    moved = replace(twin.scenes, **{what: getattr(twin.scenes, what) + 0.01})
    broken = checked(2, drawn, {**found, "T1_positive_twin": replace(twin, scenes=moved)})
    assert broken.detail == "T1_positive: objects, camera or lamps were moved in some twins"


def test_twins_that_change_another_confounder_are_counted():
    """A blue metal object that is no longer blue is no blue metal object, either."""
    blue, metal = ObjectPattern(color="blue"), ObjectPattern(color="blue", material="metal")
    book = RuleBook((ObjectPattern(shape="sphere"),), ((blue,), (metal,), (ObjectPattern(size="large"),)))
    datasets = TaskDatasets(book, "strict", "attributes", resolved_options(FEW, 64, 0, "numba"), None, None)
    own = datasets.split("strict", "test", 0).of_label(1)
    one, twin = datasets.twins(own, 0, insert=False)
    also = int((book.truths(one.scenes.attributes)[:, 2] & ~book.truths(twin.scenes.attributes)[:, 2]).sum())
    assert also > 0
    sets = {"T1_positive": own.scenes, "T1_positive_paired": one.scenes, "T1_positive_twin": twin.scenes}
    phase = SimpleNamespace(name="T1")
    found = CHECKS[2](book, "strict", sets | {"T1_negative": own.scenes})(SimpleNamespace(phases=[phase]))
    assert f"T1_positive {len(twin.scenes)} of 20 ({also} also change another confounder)" in found.detail


def test_a_training_image_among_the_test_images_is_found(pictures):
    _, drawn, _ = pictures
    train = drawn.phases[1].train
    leaky = tuple(
        replace(split, images=train.take(torch.tensor([0, 3]))) if split.name == "unconfounded_positive" else split
        for split in drawn.splits
    )
    found = CHECKS[3](PAPER_RULES, "strict", {})(replace(drawn, splits=leaky))
    assert found.detail == "unconfounded_positive holds 2 training images of T2"
    phases = (drawn.phases[0], replace(drawn.phases[1], train=drawn.phases[0].train), drawn.phases[2])
    assert (
        "T1 and T2 share 6 training images"
        in CHECKS[3](PAPER_RULES, "strict", {})(replace(drawn, phases=phases)).detail
    )


def test_a_training_picture_among_the_test_pictures_of_a_folder_is_found_in_tables_too(pictures, tmp_path):
    """The copy of a picture and of its record under another name."""
    folder = tmp_path / "leaky"
    shutil.copytree(pictures[0], folder)
    case = folder / "case_strict_main"
    source, target = (case / split / "images" / "t1" / "1" / "000000.png" for split in ("train", "test"))
    shutil.copy(source, target)
    lines = {split: (case / split / "scenes.jsonl").read_text().splitlines() for split in ("train", "test")}
    for number, line in enumerate(lines["test"]):
        if Path(json.loads(line)["image"]).parts[-3:] == target.parts[-3:]:
            copied = next(
                one for one in lines["train"] if Path(json.loads(one)["image"]).parts[-3:] == source.parts[-3:]
            )
            lines["test"][number] = json.dumps({**json.loads(copied), "image": json.loads(line)["image"]})
    (case / "test" / "scenes.jsonl").write_text("\n".join(lines["test"]) + "\n")
    sizes = {"size": 32, "train": 3, "val": 2, "test": 4}
    for path, passed in ((pictures[0], True), (folder, False)):
        checks = prove(concon(path=str(path), input_modality="attributes", **sizes)).checks
        found = next(check for check in checks if check.name == "no image is shared by phases, training and test")
        assert found.passed == passed
        assert passed or found.detail == "T2_positive holds 1 training images of T2"


def test_tables_without_pictures_are_not_compared_and_the_proof_says_so(tables, scenes):
    found = checked(3, tables, scenes)
    assert found.passed is None
    assert found.detail.startswith("not checked: without images, scenes coincide by chance")


def test_uneven_classes_are_found(tables):
    fewer = replace(tables.phases[0], train=tables.phases[0].train.take(torch.arange(79)))
    found = CHECKS[4](PAPER_RULES, "strict", {})(replace(tables, phases=(fewer, *tables.phases[1:])))
    assert found.detail == "T1 has 40 positives among 79"


def test_two_identical_objects_in_every_positive_are_found(tables, scenes):
    codes = scenes["T1"].attributes.copy()
    positives = scenes["T1"].labels == 1
    codes[positives, 3] = codes[positives, 2]
    found = checked(5, tables, {**scenes, "T1": replace(scenes["T1"], attributes=codes)})
    assert not found.passed
    assert "identical" in found.detail
