"""Masks of objects beside users' pictures: how they are found, read and prepared, and that backgrounds are then tested."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from torch import nn

import einstellung
from einstellung.classifiers.classifier import Classifier
from einstellung.classifiers.object_masks import find_mask, prepared_mask, read_mask
from einstellung.classifiers.preprocessing import Preprocessing
from einstellung.cli import main
from einstellung.errors import InputError
from tests.probes.audit.test_backgrounds import SIDE, images_of, reads

NET = """
import torch
from tests.probes.audit.test_backgrounds import reads

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = reads("WHERE")
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, inputs):
        return self.model.forward(inputs) + 0 * self.weight

def net():
    return Net(), {"size": 16, "resize": 16, "mean": [0, 0, 0], "std": [1, 1, 1], "squash": True}
"""


def classifier(size: int, resize: int) -> Classifier:
    return Classifier("net", nn.Identity(), Preprocessing(size, resize, (0.0,) * 3, (1.0,) * 3), 3, "none")


def save(file, values, mode=None):
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(values, dtype=np.uint8), mode).save(file)
    return file


def test_a_mask_has_the_name_of_its_picture(tmp_path):
    mask = save(tmp_path / "cat" / "a.b.png", np.eye(4))
    assert find_mask(tmp_path, "cat/a.b.jpg") == mask
    with pytest.raises(InputError, match=r"no mask for dog/a\.jpg: add dog/a\.png, with 0 for the background"):
        find_mask(tmp_path, "dog/a.jpg")


def test_every_kind_of_mask_means_the_same(tmp_path):
    """0/1, 0/255, label maps, colours, palettes and cut-outs with transparency."""
    where = np.zeros((5, 7), dtype=bool)
    where[1:4, 2:6] = True
    cut_out = np.full((5, 7, 4), 90)
    cut_out[..., 3] = np.where(where, 255, 0)
    palette = Image.fromarray(where.astype(np.uint8), "P")
    palette.putpalette([10, 10, 10, 200, 0, 0])
    palette.save(tmp_path / "palette.png")
    files = [
        save(tmp_path / "ones.png", where),
        save(tmp_path / "bytes.bmp", where * 255),
        save(tmp_path / "labels.tif", where * 3),
        save(tmp_path / "colour.png", where[..., None] * np.array([0, 0, 40])),
        save(tmp_path / "cut_out.png", cut_out),
        tmp_path / "palette.png",
    ]
    for file in files:
        assert np.array_equal(read_mask(file), where), file.name


def test_a_mask_is_resized_and_cropped_like_its_picture(tmp_path):
    mask = np.zeros((40, 20))
    mask[10:30, :10] = 1  # the left half of the middle, which is all that remains of 40 x 20 pixels
    file = save(tmp_path / "mask.png", mask)
    inside = prepared_mask(file, (40, 20), classifier(10, 10))
    assert inside.shape == (1, 10, 10)
    assert inside[0, :, :4].all()
    assert not inside[0, :, 6:].any()
    with pytest.raises(InputError, match="has 20 x 40 pixels, its picture 20 x 20: they must be equal"):
        prepared_mask(file, (20, 20), classifier(10, 10))
    edge = np.zeros((40, 20))
    edge[:5] = 1
    with pytest.raises(InputError, match="marks no object in the part of the picture that net sees"):
        prepared_mask(save(tmp_path / "edge.png", edge), (40, 20), classifier(10, 10))


def test_what_is_no_mask_is_refused(tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(InputError, match=r"text\.png cannot be read as a mask \(PNG, BMP, TIFF\)"):
        read_mask(tmp_path / "text.png")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Pictures whose object and background both have the shade of their class, and their masks."""
    monkeypatch.chdir(tmp_path)
    images, labels, objects = images_of()
    for number, (image, label, inside) in enumerate(zip(images, labels.tolist(), objects, strict=True)):
        save(tmp_path / "pictures" / f"{label}_{number}.png", image.permute(1, 2, 0).numpy())
        save(tmp_path / "masks" / f"{label}_{number}.png", inside[0].numpy())
    return tmp_path


def typed(monkeypatch, *words) -> int:
    monkeypatch.setattr("sys.argv", ["einstellung", "audit", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


@pytest.mark.parametrize(("where", "suspected"), [("background", {"0", "1", "2"}), ("object", set())])
def test_backgrounds_of_a_users_pictures_are_tested(folder, monkeypatch, capsys, where, suspected):
    (folder / "net.py").write_text(NET.replace("WHERE", where))
    words = ("--model", "net.py:net", "--data", "pictures", "--probes", "replacement", "--json")
    assert typed(monkeypatch, *words, "--objects", "masks") == 0
    shown = json.loads(capsys.readouterr().out)["models"]["net.py:net"]
    found = [one for one in (*shown["findings"], *shown["suspicions"]) if one["component"] == "background"]
    assert {one["name"] for one in found} == suspected
    assert all(one["area"] == pytest.approx(1 - 36 / SIDE**2) for one in found)
    methods = {row["method"]: row["delta"] for row in shown["proxies"]}
    assert methods["background of another class"] == (1.0 if suspected else 0.0)


def test_masks_from_python_are_checked():
    images, labels, objects = images_of()
    options = {"probes": ("replacement",), "names": list("abc")}
    result = einstellung.audit(reads("background").forward, images, labels, objects=objects[:, 0].numpy(), **options)
    assert {one.name for one in result.suspicions if one.component == "background"} | {
        one.name for one in result.findings if one.component == "background"
    } == set("abc")
    with pytest.raises(InputError, match=r"objects are \[48, 15, 16\]: give a mask of 16 x 16 pixels for each of 48"):
        einstellung.audit(reads("object").forward, images, labels, objects=objects[:, 0, :-1])
    nothing = objects.clone()
    nothing[7] = False
    with pytest.raises(InputError, match="objects mark nothing in image 7"):
        einstellung.audit(reads("object").forward, images, labels, objects=nothing)


def test_bad_masks_are_one_line(folder, monkeypatch, capsys):
    (folder / "net.py").write_text(NET.replace("WHERE", "object"))
    words = ("--model", "net.py:net", "--data", "pictures", "--objects")
    assert typed(monkeypatch, *words, "nowhere") == 2
    assert "--objects nowhere is not a folder" in capsys.readouterr().err
    (folder / "masks" / "1_20.png").unlink()
    assert typed(monkeypatch, *words, "masks") == 2
    error = capsys.readouterr().err
    assert "masks has no mask for 1_20.png" in error
    assert len(error.strip().splitlines()) == 1
    assert typed(monkeypatch, "results", "--objects", "masks") == 2
    assert "--objects goes with --model" in capsys.readouterr().err
