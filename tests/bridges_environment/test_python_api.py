"""Models and data of timm, Hugging Face and torchvision through ``import einstellung``; random weights, no download."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import einstellung as e

CHOICE = {"t1": [0, 1], "t2": [2, 3], "shortcut": [2]}


@pytest.fixture(scope="module")
def pictures():
    draws = np.random.default_rng(0)
    return {
        part: (draws.integers(0, 256, (4 * count, 32, 32, 3), dtype=np.uint8), np.arange(4).repeat(count))
        for part, count in (("train", 10), ("test", 8))
    }


@pytest.fixture(scope="module")
def data(pictures):
    return e.two_phase(pictures["train"], pictures["test"], **CHOICE)


def timm_model() -> torch.nn.Module:
    timm = pytest.importorskip("timm")
    torch.manual_seed(0)
    return timm.create_model("resnet10t", pretrained=False, num_classes=4)


def hugging_face_model() -> torch.nn.Module:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=32, patch_size=8,
        num_labels=4,
    )  # fmt: skip
    return transformers.ViTForImageClassification(config)


@pytest.mark.parametrize("make", [timm_model, hugging_face_model])
def test_recorder_measures_the_model(make, data):
    model = make().train()
    recorder = e.Recorder("theirs", seed=1)
    with recorder.phase("T2"):
        found = recorder.evaluate(model, data, epoch=0)
    assert model.training
    inputs, labels = data.covered.tensors()
    with torch.no_grad():
        output = model.eval()(inputs)
    logits = getattr(output, "logits", output)
    assert found["T2_shortcut_masked"] == pytest.approx((logits.argmax(1) == labels).float().mean().item())


@pytest.mark.parametrize("make", [timm_model, hugging_face_model])
def test_audit_takes_the_model(make, pictures):
    model = make().eval()
    found = e.audit(model, *pictures["test"], budgets=[0.1], probes=["occlusion"])
    plain = e.audit(
        lambda batch: getattr(model(batch), "logits", model(batch)),
        *pictures["test"],
        budgets=[0.1],
        probes=["occlusion"],
    )
    assert found.timeline.frame["acc"].tolist() == plain.timeline.frame["acc"].tolist()
    assert "<table" in found._repr_html_()


def test_hugging_face_data(pictures, data):
    datasets = pytest.importorskip("datasets")
    from PIL import Image

    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["a", "b", "c", "d"]),
            "id": datasets.Value("int64"),
        }
    )

    def made(part):
        images, labels = part
        rows = {
            "image": [Image.fromarray(one) for one in images],
            "label": labels.tolist(),
            "id": list(range(len(labels))),
        }
        return datasets.Dataset.from_dict(rows, features=features)

    found = e.two_phase(made(pictures["train"]), made(pictures["test"]), t1=["a", "b"], t2=["c", "d"], shortcut=["c"])
    assert found.class_names == ("a", "b", "c", "d")
    for one, other in zip(found.stream.splits, data.stream.splits, strict=True):
        assert torch.equal(one.images.images, other.images.images), one.name


def test_torchvision_data(pictures, data, tmp_path):
    torchvision = pytest.importorskip("torchvision")
    from PIL import Image

    for part, (images, labels) in pictures.items():
        for number, (image, label) in enumerate(zip(images, labels, strict=True)):
            folder = tmp_path / part / str(label)
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(folder / f"{number:03d}.png")
    folders = [torchvision.datasets.ImageFolder(str(tmp_path / part)) for part in ("train", "test")]
    found = e.two_phase(*folders, **CHOICE)
    assert torch.equal(found.covered.images.images, data.covered.images.images)
