"""The CIFAR-100 stream against a plain reading of the same files: label by label, pixel by pixel."""

from __future__ import annotations

import collections
import pickle
from dataclasses import replace
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
import torch

from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, data_digests
from einstellung.results.config import build_config
from einstellung.sources import load_cifar100
from einstellung.sources.cifar100_duplicates import TRAIN_AND_TEST, WITHIN_TRAIN
from einstellung.streams import ImageSet, Stream, cifar100, prove
from einstellung.streams.proof import _evaluation_unseen, _images_disjoint, _splits_balanced
from tests.sources.archives import FOLDER, published_as, small_files, write_folder

MAGENTA = np.array([255, 0, 255], dtype=np.uint8).reshape(1, 3, 1, 1)
T1, SC, NSC = range(8), (8, 9), (10, 11)

# Worked by hand: fine ids of the phase in rising order; T1 takes 0..39, the cue's classes 40..49, the others 50..59.
HEAD_LABELS = {
    "apple": 0, "aquarium_fish": 1, "beaver": 2, "bed": 3, "bee": 4, "whale": 39,
    "bear": 40, "bridge": 41, "castle": 42, "house": 43, "leopard": 44,
    "lion": 45, "road": 46, "skyscraper": 47, "tiger": 48, "wolf": 49,
    "camel": 50, "cattle": 51, "chimpanzee": 52, "cloud": 53, "elephant": 54,
    "forest": 55, "kangaroo": 56, "mountain": 57, "plain": 58, "sea": 59,
}  # fmt: skip


class Plain:
    """One part of the files, read by plain ``pickle``, with head labels from a dictionary and patches from slices."""

    def __init__(self, raw: dict, parts: tuple, level: str = "fine") -> None:
        self.pixels = np.asarray(raw[b"data"]).reshape(-1, 3, 32, 32)
        self.coarse = np.asarray(raw[b"coarse_labels"])
        self.ids = np.asarray(raw[b"fine_labels"]) if level == "fine" else self.coarse
        self.head: dict[int, int] = {}
        for supers in parts:
            for one in sorted(set(self.ids[np.isin(self.coarse, list(supers))].tolist())):
                self.head[one] = len(self.head)

    def rows(self, *supers: int) -> list[int]:
        return [row for row, coarse in enumerate(self.coarse) if coarse in supers]

    def check(self, images: ImageSet, patch: str | None = None) -> None:
        """Labels and pixels of ``images`` are the file's, with a patch of the default cue where one is named."""
        rows = images.index.numpy()
        expected = self.pixels[rows].copy()
        if patch == "magenta":
            expected[:, :, :4, :4] = MAGENTA
        elif patch == "black":
            expected[:, :, :4, :4] = 0
        elif patch == "elsewhere":
            expected[:, :, 28:, 28:] = MAGENTA
        assert images.images.dtype == torch.uint8
        assert np.array_equal(images.images.numpy(), expected)
        assert images.labels.tolist() == [self.head[one] for one in self.ids[rows].tolist()]


def check_everything(stream: Stream, train: Plain, test: Plain, parts=(T1, SC, NSC)) -> None:
    """Both phases and all splits of a stream with the default cue and every image of its classes."""
    t1, sc, nsc = parts
    first, second = (phase.train for phase in stream.phases)
    train.check(first)
    assert first.index.tolist() == train.rows(*t1)
    assert not first.has_cue.any()
    train.check(second)
    held_out = stream.split("T2_val").images
    assert sorted(second.index.tolist() + held_out.index.tolist()) == train.rows(*sc, *nsc)
    with_cue = set(train.rows(*sc))
    for images in (second, held_out):
        assert images.has_cue.tolist() == [row in with_cue for row in images.index.tolist()]
    train.check(held_out.take(held_out.has_cue.nonzero().flatten()), "magenta")
    train.check(held_out.take((~held_out.has_cue).nonzero().flatten()))
    for name, supers, patch in (
        ("T1_all", t1, None),
        ("T2_shortcut_normal", sc, "magenta"),
        ("T2_shortcut_masked", sc, "black"),
        ("T2_shortcut_clean", sc, None),
        ("T2_shortcut_elsewhere", sc, "elsewhere"),
        ("T2_nonshortcut_normal", nsc, None),
        ("T2_nonshortcut_patched", nsc, "magenta"),
    ):
        assert stream.split(name).images.index.tolist() == test.rows(*supers), name
        test.check(stream.split(name).images, patch)


@pytest.fixture(scope="module")
def default(raw_cifar100) -> Stream:
    return cifar100(PatchCue())


@pytest.mark.parametrize("level", ["fine", "superclass"])
def test_the_published_files_arrive_as_they_are(raw_cifar100, default, level):
    stream = default if level == "fine" else cifar100(PatchCue(), labels="superclass")
    train, test = (Plain(raw_cifar100[part], (T1, SC, NSC), level) for part in ("train", "test"))
    check_everything(stream, train, test)
    fine = np.asarray(raw_cifar100["train"][b"fine_labels"])
    assert set(np.bincount(fine[stream.split("T2_val").images.index]).tolist()) == {0, 50}  # a tenth of each fine class
    names = raw_cifar100["meta"][b"fine_label_names" if level == "fine" else b"coarse_label_names"]
    by_label = sorted(train.head, key=train.head.__getitem__)
    assert stream.class_names == tuple(names[one].decode() for one in by_label)


def test_head_labels_worked_by_hand(default):
    assert {name: default.class_names.index(name) for name in HEAD_LABELS} == HEAD_LABELS
    t1, t2 = default.phases
    assert t1.classes == tuple(range(40))
    assert t2.classes == tuple(range(40, 60))
    assert t2.cue_classes == tuple(range(40, 50))


def test_superclasses_one_output_each(raw_cifar100):
    stream = cifar100(PatchCue(), labels="superclass", t1=(3, 1), t2=(12, 5, 9), shortcut=(9,), train_per_class=20)
    assert stream.class_names == (
        "fish",
        "food_containers",
        "large_man-made_outdoor_things",
        "household_electrical_devices",
        "medium_mammals",
    )
    proof = prove(stream)
    proof.require()
    assert proof.facts["chance"] == pytest.approx(1 / 5)
    assert proof.facts["chance_task"] == pytest.approx(1 / 3)
    assert proof.facts["cue_alone"] == pytest.approx(1)


def test_the_default_stream_proves_itself(default):
    proof = prove(default)
    proof.require()
    assert (proof.facts["chance"], proof.facts["chance_task"], proof.facts["cue_alone"]) == (1 / 60, 1 / 20, 1 / 10)
    assert proof.facts["training_images"] == {"T1": 20_000, "T2": 9_000}
    sizes = proof.facts["evaluation_images"]
    assert sizes.pop("T1_all") == 4000
    assert set(sizes.values()) == {1000}
    assert proof.facts["duplicates"] == (
        "evaluation images that are also training images, pixel for pixel: 7 (7 in T1_all), evaluated like the others"
    )


@pytest.fixture(scope="module")
def twins(raw_cifar100) -> list[list[tuple[str, int]]]:
    """All images of the real files that are equal pixel for pixel, counted here once more."""
    places = collections.defaultdict(list)
    for part in ("train", "test"):
        for row, image in enumerate(raw_cifar100[part][b"data"]):
            places[image.tobytes()].append((part, row))
    return [same for same in places.values() if len(same) > 1]


def test_the_table_of_duplicates_is_what_the_files_hold(twins):
    assert all(len(same) == 2 for same in twins)
    found = {kinds: set() for kinds in (("train", "train"), ("train", "test"), ("test", "test"))}
    for (one, row), (other, twin) in twins:
        found[one, other].add((row, twin))
    assert found["train", "train"] == set(WITHIN_TRAIN)
    assert found["train", "test"] == set(TRAIN_AND_TEST)
    assert len(WITHIN_TRAIN) == 14
    assert len(TRAIN_AND_TEST) == 10
    assert found["test", "test"] == {(3438, 7715), (4654, 6709)}


def own_images(stream: Stream) -> set[tuple[str, int]]:
    """Every image that the stream measures on, by its file and its place there."""
    tests = ("T1_all", "T2_shortcut_clean", "T2_nonshortcut_normal")
    found = {("test", row) for name in tests for row in stream.split(name).images.index.tolist()}
    return found | {("train", row) for row in stream.split("T2_val").images.index.tolist()}


@pytest.mark.parametrize(
    "options",
    [
        {"t1": ("fish",), "t2": ("aquatic_mammals", 14), "shortcut": (0,)},  # a whale of T2 is a shark of T1
        {"t1": (15,), "t2": (13, 16), "shortcut": (13,)},  # two worms of T2 are snakes of T1
    ],
)
def test_duplicates_of_any_superclasses_are_counted_and_left_out(twins, options):
    reported, dropped = (cifar100(PatchCue(), duplicates=handling, **options) for handling in ("report", "drop"))
    measured, (first, second) = own_images(reported), (set(p.train.index.tolist()) for p in reported.phases)
    directed = [(one, other) for same in twins for one, other in (same, same[::-1])]
    leaks = {one for one, (part, row) in directed if one in measured and part == "train" and row in first | second}
    in_both = {
        row for (part, row), twin in directed if part == "train" and row in second and twin in in_training(first)
    }
    assert leaks
    assert in_both

    assert reported.duplicates_allowed == len(leaks)
    assert reported.phase_duplicates_allowed == len(in_both)
    assert reported.left_out == 0
    assert f"also training images, pixel for pixel: {len(leaks)} (" in reported.facts["duplicates"]
    assert f"training images of T2 that are also in T1: {len(in_both)}, trained on" in reported.facts["duplicates"]
    prove(reported).require()
    unknown = replace(reported, phase_duplicates_allowed=0, duplicates_allowed=len(leaks) - 1)
    found = (_images_disjoint(unknown), _evaluation_unseen(unknown))
    assert {check.name: check.detail for check in found if not check.passed} == {
        "phases share no image": f"T1 and T2 share 0 images by identity, {len(in_both)} by content",
        "training and evaluation share no image": f"{len(leaks)} shared images in T1_all, T2_nonshortcut_normal, T2_val, "
        f"T2_shortcut_clean ({len(leaks) - 1} known in the source)",
    }

    assert (dropped.duplicates_allowed, dropped.phase_duplicates_allowed) == (0, 0)
    assert dropped.left_out == len(leaks)
    assert own_images(dropped) == measured - leaks
    assert set(dropped.phases[1].train.index.tolist()) == second - in_both
    shown = [split.images.index.tolist() for split in dropped.splits if split.name.startswith("T2_shortcut")]
    assert all(one == other for one, other in pairwise(shown))
    assert all(check(dropped).passed for check in (_images_disjoint, _evaluation_unseen, _splits_balanced))


def in_training(rows: set[int]) -> set[tuple[str, int]]:
    return {("train", row) for row in rows}


def test_duplicates_of_the_default_stream_left_out(default):
    dropped = cifar100(PatchCue(), duplicates="drop")
    gone = set(default.split("T1_all").images.index.tolist()) - set(dropped.split("T1_all").images.index.tolist())
    assert gone == {9524, 3932, 1100, 3499, 2615, 4716, 6526}  # all of them fish, otters and seals
    for name in ("T2_shortcut_normal", "T2_nonshortcut_normal", "T2_val"):
        assert torch.equal(dropped.split(name).images.images, default.split(name).images.images)


# From here on with a small data set of the same layout, so that it runs everywhere.


@pytest.fixture(scope="module")
def small_data() -> dict[str, bytes]:
    """Noise in a hundred fine classes: eight training images and three test images of each."""
    return small_files(train_per_class=8, test_per_class=3)


@pytest.fixture
def small(small_data, tmp_path, monkeypatch):
    """The stream finds the small data set; the test has its plain reading."""
    published = published_as(small_data)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EINSTELLUNG_DATA", raising=False)
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    write_folder(tmp_path / "data" / FOLDER, small_data)
    module = import_module("einstellung.streams.cifar100")  # its name in the package is the stream's
    monkeypatch.setattr(module, "load_cifar100", lambda: load_cifar100(published))
    return {name: pickle.loads(content, encoding="bytes") for name, content in small_data.items()}


OTHER_PARTS = ((19, 0, 7), (5, 3), (11,))


@pytest.mark.parametrize("level", ["fine", "superclass"])
@pytest.mark.parametrize("parts", [(T1, SC, NSC), OTHER_PARTS])
def test_any_superclasses_label_by_label(small, level, parts):
    t1, sc, nsc = parts
    stream = cifar100(PatchCue(), labels=level, t1=tuple(t1), t2=(*nsc, *sc), shortcut=tuple(sc))
    train, test = (Plain(small[part], parts, level) for part in ("train", "test"))
    check_everything(stream, train, test, parts)
    prove(stream).require()


def test_the_same_stream_from_the_cache_and_without_one(small, monkeypatch, tmp_path):
    first, from_cache = data_digests(cifar100(PatchCue())), data_digests(cifar100(PatchCue()))
    (tmp_path / "a file").touch()
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "a file"))
    with pytest.warns(UserWarning, match="not cached, so the data are decoded on every run"):
        without = data_digests(cifar100(PatchCue()))
    assert first == from_cache == without


def test_superclasses_by_number_or_name(small):
    by_number = cifar100(PatchCue(), t1=(0, 1), t2=(2, 3), shortcut=(2,))
    by_name = cifar100(PatchCue(), t1=("kind_a", "Kind B"), t2=("kind-d", 2), shortcut=("kind_c",))
    assert data_digests(by_number) == data_digests(by_name)


def test_the_first_images_of_each_fine_class(small):
    stream = cifar100(PatchCue(), train_per_class=5, test_per_class=2, validation=0.2)
    fine = small["train"][b"fine_labels"]
    first_five = [row for row, one in enumerate(fine) if fine[:row].count(one) < 5]
    used = [*stream.phases[0].train.index.tolist(), *stream.phases[1].train.index.tolist()]
    used += stream.split("T2_val").images.index.tolist()
    coarse = small["train"][b"coarse_labels"]
    assert sorted(used) == [row for row in first_five if coarse[row] < 12]
    assert len(stream.split("T2_val").images) == 20
    fine, coarse = small["test"][b"fine_labels"], small["test"][b"coarse_labels"]
    first_two = [row for row, one in enumerate(fine) if fine[:row].count(one) < 2 and coarse[row] < 8]
    assert stream.split("T1_all").images.index.tolist() == first_two


def test_validation_is_exact_per_fine_class_at_either_level(small):
    coarse = cifar100(PatchCue(), labels="superclass", validation=0.25)
    fine = cifar100(PatchCue(), validation=0.25)
    assert coarse.split("T2_val").images.index.tolist() == fine.split("T2_val").images.index.tolist()
    held_out = np.asarray(small["train"][b"fine_labels"])[coarse.split("T2_val").images.index]
    assert set(np.bincount(held_out).tolist()) == {0, 2}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"t1": ("kind_q", "knid_b")},
            "stream.t1 names 'knid_b', which is not a superclass of CIFAR-100: did you mean 'kind_b'",
        ),
        ({"shortcut": ("kind_a",)}, "stream.shortcut names superclasses .* not in stream.t2"),
        ({"t2": (8, 20)}, "stream.t2 is .*: give superclasses from 0 to 19"),
        ({"t1": ("kind_i",)}, r"superclasses \[8\] are in stream.t1 and in stream.t2"),
        ({"train_per_class": 9}, "stream.train_per_class is 9: give a number from 2 to 8, or null for all"),
        ({"test_per_class": 0}, "stream.test_per_class is 0: give a number from 1 to 3"),
    ],
)
def test_wrong_options_are_named(small, options, words):
    with pytest.raises(InputError, match=words):
        cifar100(PatchCue(), **options)


def test_from_a_configuration(small):
    section = {"name": "cifar100", "t1": [0, "kind_b"], "labels": "superclass", "train_per_class": 6, "validation": 0.2}
    stream = build_stream(build_config({"stream": section}))
    assert stream.n_outputs == 6
    for wrong, words in (
        ({"labels": "coarse"}, "stream.labels is 'coarse'"),
        ({"duplicates": "ignore"}, "stream.duplicates is 'ignore'"),
        ({"t1": "kind_a"}, r"stream.t1 is 'kind_a': it should be tuple\[int \| str, ...\]"),
    ):
        with pytest.raises(InputError, match=words):
            build_stream(build_config({"stream": {**section, **wrong}}))


def test_the_spec_of_a_net_s_input(small):
    stream = cifar100(PatchCue())
    assert stream.mean == (0.5071, 0.4867, 0.4408)
    assert stream.std == (0.2675, 0.2565, 0.2761)
    assert stream.crop_padding == 4
    assert stream.flip
