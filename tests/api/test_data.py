"""``two_phase``: data in the forms that people have them, the cue where it should be, and a study that resumes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

import einstellung as e
from einstellung.cues import PatchCue
from einstellung.errors import InputError

CHOICE = {"t1": [0, 1], "t2": [2, 3], "shortcut": [2]}
NAMES = ["red", "green", "blue", "grey"]


class Pairs:
    """A data set of (image, label), as torchvision's are."""

    classes = NAMES

    def __init__(self, part, make):
        self.part, self.make = part, make

    def __len__(self):
        return len(self.part[1])

    def __getitem__(self, row):
        return self.make(self.part[0][row]), int(self.part[1][row])


class ClassLabel(SimpleNamespace):
    pass


class Features:
    """A Hugging Face data set, by its features and columns."""

    column_names = ("picture", "kind", "label")

    def __init__(self, part):
        self.part = part
        image = type("Image", (), {})()
        self.features = {"picture": image, "kind": ClassLabel(names=NAMES), "label": SimpleNamespace(dtype="string")}

    def __len__(self):
        return len(self.part[1])

    def __getitem__(self, row):
        return {"picture": Image.fromarray(self.part[0][row]), "kind": int(self.part[1][row]), "label": "no"}


@pytest.fixture(scope="module")
def data(pictures):
    return e.two_phase(pictures["train"], pictures["test"], **CHOICE, cue={"size": 3, "share": 0.5})


@pytest.mark.parametrize(
    "form",
    [
        lambda part: tuple(map(torch.as_tensor, part)),
        lambda part: (part[0].transpose(0, 3, 1, 2), part[1].tolist()),
        lambda part: (part[0] / np.float32(255), part[1]),
        lambda part: ([Image.fromarray(image) for image in part[0]], part[1]),
        lambda part: Pairs(part, Image.fromarray),
        lambda part: Pairs(part, lambda image: torch.as_tensor(image).permute(2, 0, 1) / 255),
        Features,
    ],
)
def test_every_form_gives_the_same_images(data, pictures, form):
    found = e.two_phase(form(pictures["train"]), form(pictures["test"]), **CHOICE, cue={"size": 3, "share": 0.5})
    for one, other in zip(found.stream.splits, data.stream.splits, strict=True):
        assert torch.equal(one.images.images, other.images.images), one.name
        assert torch.equal(one.images.labels, other.images.labels), one.name


def test_names(pictures):
    named = e.two_phase(
        Pairs(pictures["train"], Image.fromarray),
        Features(pictures["test"]),
        t1=["red", 1],
        t2=["grey", "blue"],
        shortcut="grey",
    )
    assert named.class_names == ("red", "green", "grey", "blue")
    texts = [np.array(NAMES)[pictures[key][1]].tolist() for key in ("train", "test")]
    parts = [(pictures[key][0], labels) for key, labels in zip(("train", "test"), texts, strict=True)]
    by_text = e.two_phase(*parts, t1=["red", "green"], t2=["grey", "blue"], shortcut=["grey"])
    assert by_text.class_names == ("green", "red", "grey", "blue")  # within a part, in the order of the sorted names


def test_grey_images_get_three_channels(pictures):
    grey = {key: (part[0][..., 0], part[1]) for key, part in pictures.items()}
    found = e.two_phase(grey["train"], grey["test"], **CHOICE)
    pixels = found.splits["T1_all"].images.images
    assert pixels.shape[1] == 3
    assert torch.equal(pixels[:, 0], pixels[:, 2])


def test_cue_and_cover(data):
    """By eye: the patch's pixels are magenta with the cue, black when covered, and the rest of the image is the same."""
    cue, covered, clean = (data.splits[f"T2_shortcut_{name}"].images.images for name in ("normal", "masked", "clean"))
    assert (cue[:, :, :3, :3] == torch.tensor([255, 0, 255]).view(1, 3, 1, 1)).all()
    assert (covered[:, :, :3, :3] == 0).all()
    for one in (cue, covered):
        assert torch.equal(one[:, :, 3:], clean[:, :, 3:])
    assert data.covered is data.splits["T2_shortcut_masked"]
    assert int(data.train["T2"].has_cue.sum()) == 9  # half of the 18 training images that are not held out
    assert not data.train["T1"].has_cue.any()


def test_inputs_are_normalised(data):
    inputs, labels = data.splits["T1_all"].tensors()
    pixels = data.splits["T1_all"].images.images
    mean, std = (torch.tensor(value).view(1, 3, 1, 1) for value in (data.stream.mean, data.stream.std))
    torch.testing.assert_close(inputs, (pixels / 255 - mean) / std, rtol=1e-4, atol=1e-4)
    image, label = data.splits["T1_all"][-1]
    assert torch.equal(image, inputs[-1])
    assert label == int(labels[-1])
    with pytest.raises(IndexError):
        data.splits["T1_all"][len(labels)]


def test_data_loader(data):
    batches = list(DataLoader(data.train["T2"], batch_size=10))
    inputs, labels = (torch.cat(parts) for parts in zip(*batches, strict=True))
    expected = data.train["T2"].tensors()
    assert torch.equal(inputs, expected[0])
    assert torch.equal(labels, expected[1])


def test_batches(data):
    phase = data.train["T2"]
    first, again, later = ([*phase.batches(7, epoch=epoch, seed=1)] for epoch in (1, 1, 2))
    assert [len(labels) for _, labels in first] == [7, 7, 7, 7, 7, 1]
    assert all(torch.equal(one[0], other[0]) for one, other in zip(first, again, strict=True))
    assert not torch.equal(first[0][0], later[0][0])
    assert sorted(label for _, labels in first for label in labels.tolist()) == sorted(phase.images.labels.tolist())
    # augmentation does not move the cue: as many images have it at its place as the phase says
    scaled = (torch.tensor([255.0, 0, 255]) / 255 - torch.tensor(data.stream.mean)) / torch.tensor(data.stream.std)
    inputs = torch.cat([inputs for inputs, _ in first])
    painted = ((inputs[:, :, :3, :3] - scaled.view(1, 3, 1, 1)).abs() < 1e-4).flatten(1).all(1)
    assert int(painted.sum()) == int(phase.has_cue.sum())
    with pytest.raises(InputError, match="batch_size is 0"):
        next(phase.batches(0))


def test_recorder_takes_the_data(data):
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 144, 4))
    by_data, by_splits = e.Recorder("a", 1), e.Recorder("a", 1)
    with by_data.phase("T2"), by_splits.phase("T2"):
        one = by_data.evaluate(net, data, epoch=0)
        other = by_splits.evaluate(net, data.splits, epoch=0, classes=data.classes)
    assert one == other
    assert set(one) == set(data.splits)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t2": [1, 2]}, "1 is in t1 and in t2"),
        ({"shortcut": [2, 3]}, "shortcut holds all of t2"),
        ({"shortcut": [0]}, "shortcut names 0, which is not in t2"),
        ({"t1": [7]}, "t1 names class 7: give names, or numbers from 0 to 3"),
        ({"t1": ["rde"], "names": NAMES}, "t1 names 'rde', which is not a class of the data: did you mean 'red'"),
        ({"t1": []}, "t1 is empty"),
        ({"cue": "pach"}, "unknown cue 'pach': did you mean 'patch'"),
        ({"cue": {"sise": 3}}, "unknown key 'cue.sise': did you mean 'size'"),
        ({"cue": 3}, "the cue is a int without share"),
        ({"cover": "blak"}, "did you mean 'black'"),
        ({"names": ["a"]}, "has the label 1, which is not among the classes"),
        ({"names": ["a"] * 4}, "two classes have the same name"),
        ({"mean": [0.5]}, "mean has 1 numbers"),
        ({"mean": [0.5] * 3}, "mean and stream.std go together"),
        ({"validation": 0.001}, "validation 0.001 holds out 0 of 20"),
        ({"input_size": 8}, "input_size is 8"),
    ],
)
def test_wrong_arguments(pictures, change, message):
    with pytest.raises(InputError, match=message):
        e.two_phase(pictures["train"], pictures["test"], **{**CHOICE, **change})


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (3, "train is a int: give"),
        (([[1, 2]], [0]), "images of train are"),
        ((np.full((2, 8, 8, 3), 1.5), [0, 1]), "floats outside 0..1"),
        ((np.zeros((2, 8, 8, 3), np.uint8), [0]), "train has 2 images and 1 labels"),
        ((np.zeros((2, 8, 8, 3), np.uint8), [0.5, 1]), "labels of train are float64"),
        (([np.zeros((8, 8, 3), np.uint8), np.zeros((9, 8, 3), np.uint8)], [0, 1]), "image 1 of train has the shape"),
        ((np.zeros((0, 8, 8, 3), np.uint8), []), "train"),
        (
            (np.zeros((2, 8, 8, 3), np.uint8), [0, 1]),
            "training images are \\[3, 8, 8\\] and test images \\[3, 12, 12\\]",
        ),
    ],
)
def test_wrong_sources(pictures, train, message):
    with pytest.raises(InputError, match=message):
        e.two_phase(train, pictures["test"], **CHOICE)


def test_shared_images_fail_the_proof(pictures):
    with pytest.raises(InputError, match="training and evaluation share no image"):
        e.two_phase(pictures["train"], pictures["train"], **CHOICE)


class OwnCue(PatchCue):
    """A cue that no worker process knows."""


def test_a_cue_object(pictures, tmp_path):
    found = e.two_phase(pictures["train"], pictures["test"], **CHOICE, cue=OwnCue(size=2))
    assert found.stream.cue == OwnCue(size=2)
    with pytest.raises(InputError, match="worker processes cannot rebuild the cue OwnCue"):
        found.run(out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_repr(data):
    assert repr(data).startswith(
        "<TwoPhaseData: 4 classes; T1 40 training images, T2 36 training images; PatchCue(size=3"
    )
    assert repr(data).endswith("9 of 9 checks passed>")


def test_any_number_of_phases(pictures):
    phases = [
        {"classes": ["red", "green"], "shortcut": ["red"]},
        {"classes": [2, 3], "shortcut": ["grey"], "cue": {"place": "bottom-right"}},
    ]
    data = e.phases(pictures["train"], pictures["test"], phases, names=NAMES, cue={"size": 3, "share": 0.5})
    assert data.proof.holds
    assert data.class_names == ("red", "green", "grey", "blue")
    assert list(data.train) == ["T1", "T2"]
    assert data.covered is data.splits["T2_shortcut_masked"]
    assert repr(data).startswith("<PhasedData: 4 classes; T1 ")
    with pytest.raises(InputError, match=r"phases\[1\].classes names 'pink'"):
        e.phases(pictures["train"], pictures["test"], [phases[0], {"classes": ["pink"]}], names=NAMES)
    with pytest.raises(InputError, match=r"phases\[0\] \(T1\) has no classes"):
        e.phases(pictures["train"], pictures["test"], [{}, phases[1]], names=NAMES)


def test_the_configuration_of_phases_keeps_the_study_s_own_cue(pictures, tmp_path):
    """A phase's changes start from the cue that was given, not from another phase's."""
    from einstellung.experiments.assembly import build_stream, resolve
    from einstellung.results.config import build_config
    from einstellung.results.folder import ResultsFolder

    phases = [{"classes": [0, 1], "shortcut": [0]}, {"classes": [2, 3], "shortcut": [2], "cue": {"size": 2}}]
    data = e.phases(pictures["train"], pictures["test"], phases, cue={"size": 4})
    with data.stored_in(ResultsFolder(tmp_path / "study"), {"training": {"epochs": 1}}) as values:
        config = resolve(build_config({**values, "methods": ["scratch"]}))
    stream = build_stream(config)
    assert [stream.cue_of(name).size for name in ("T1", "T2")] == [4, 2]
    assert config.training.epochs == (1, 1)
