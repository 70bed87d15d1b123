"""``einstellung audit``: a weights file and a plug-in on a folder of pictures, and every bad input in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from einstellung.backbones.registry import build_backbone
from einstellung.cli import main
from einstellung.experiments import auditing
from tests.experiments.audits import fake_audit, fake_relative, patched_images

PLUGIN = """
import torch
from tests.experiments.audits import PatchReader, patched_images

NORMAL = {"size": 16, "resize": 16, "mean": [0, 0, 0], "std": [1, 1, 1], "squash": True}

def reader():
    return PatchReader(), NORMAL

def small():
    return PatchReader(2), NORMAL

class NaNOnce(PatchReader):
    def forward(self, inputs):
        odd = (inputs - patched_images(per_class=10)[0][2] / 255).abs().amax(dim=(1, 2, 3)) < 1e-6
        return torch.where(odd.view(-1, 1), torch.nan, super().forward(inputs))

def once():
    return NaNOnce(), NORMAL

def failing():
    raise RuntimeError("out of\\nluck")
"""


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(auditing, "audit_model", fake_audit)
    monkeypatch.setattr(auditing, "relative_rows", fake_relative)
    monkeypatch.setattr(auditing, "predictive_windows", lambda *_: ())  # takes seconds, and is tested elsewhere
    (tmp_path / "net.py").write_text(PLUGIN)
    images, labels = patched_images(per_class=10)
    lines = ["file,label,name"]
    (tmp_path / "pictures").mkdir()
    for number, (image, label) in enumerate(zip(images, labels.tolist(), strict=True)):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(tmp_path / "pictures" / f"p{number}.png")
        lines.append(f"p{number}.png,{label},{'abc'[label]}")
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    (tmp_path / "one.csv").write_text("\n".join(lines[:11]))
    return tmp_path


def typed(monkeypatch, *words) -> int:
    monkeypatch.setattr("sys.argv", ["einstellung", "audit", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


ON_PICTURES = ("--data", "pictures", "--labels", "labels.csv")


def test_a_plug_in_is_audited_and_json_names_files(pictures, monkeypatch, capsys):
    assert typed(monkeypatch, "--model", "net.py:reader", *ON_PICTURES, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    found = next(one for one in shown["models"]["net.py:reader"]["findings"] if one["class"] == 1)
    assert found["images"][0] == "p19.png"
    assert found["name"] == "b"
    assert not (pictures / "audit").exists()


def test_two_models_give_the_relative_index_and_a_page(pictures, monkeypatch, capsys):
    (pictures / "other.py").write_text(PLUGIN.replace("PatchReader(), NORMAL", "PatchReader(scale=0.0), NORMAL"))
    assert (
        typed(monkeypatch, "--model", "net.py:reader", "--baseline", "other.py:reader", *ON_PICTURES, "--out", "audit")
        == 0
    )
    said = capsys.readouterr().out
    assert "report: audit/report.html" in said
    stored = json.loads((pictures / "audit" / "audit.json").read_text())
    assert {row["baseline"] for row in stored["relative"]} == {"other.py:reader"}
    assert stored["provenance"]["command"].startswith("einstellung audit --model net.py:reader")


def test_weights_are_read_safely_and_the_head_is_sized_by_them(pictures, monkeypatch, capsys):
    net = build_backbone("resnet18", {"width": 4}, 3, 1)
    save_file(net.state_dict(), "net.safetensors")
    torch.save(net.state_dict(), "net.pt")
    shown = []
    for name in ("net.safetensors", "net.pt"):
        words = (
            "--model",
            name,
            "--backbone",
            "resnet18",
            "--backbone-option",
            "width=4",
            "--mean",
            "0,0,0",
            "--std",
            "1,1,1",
        )
        assert typed(monkeypatch, *words, *ON_PICTURES, "--json") == 0
        shown.append(json.loads(capsys.readouterr().out)["models"][name]["accuracy"])
    assert shown[0] == shown[1]
    assert 0 <= shown[0] <= 1


BAD = {
    "nothing": ((), "give either a results folder, or --model with --data"),
    "both": (("folder", "--model", "net.py:reader"), "give either a results folder, or --model with --data"),
    "no data": (("--model", "net.py:reader"), "--model needs images: give --data FOLDER"),
    "no labels": (("--model", "net.py:reader", "--data", "pictures"), "no class number at the start of its name"),
    "one class": (
        ("--model", "net.py:reader", "--data", "pictures", "--labels", "one.csv"),
        "belong to one class ('a')",
    ),
    "outputs": (("--model", "net.py:small", *ON_PICTURES), "its class is 2, but net.py:small has 2 classes"),
    "plug-in": (
        ("--model", "net.py:failing", *ON_PICTURES),
        "net.py:failing fails (RuntimeError: out of): fix the file",
    ),
    "one NaN": (("--model", "net.py:once", *ON_PICTURES), "returns NaN or infinite logits for 1 of 30 images"),
    "no backbone": (
        ("--model", "net.pt", *ON_PICTURES),
        "net.pt is a weights file: name its architecture with --backbone",
    ),
    "no mean": (("--model", "x.pt", "--backbone", "resnet18", *ON_PICTURES), "give the --mean and --std"),
    "broken weights": (
        ("--model", "labels.csv.pt", "--backbone", "resnet18", "--mean", "0,0,0", "--std", "1,1,1", *ON_PICTURES),
        "labels.csv.pt cannot be read as weights",
    ),
    "not its options": (("--model", "net.py:reader", "--size", "8", *ON_PICTURES), "--size is for weights files ("),
    "not a folder's": (("somewhere", "--labels", "labels.csv"), "--labels goes with --model"),
    "no such folder": (("somewhere",), "no such folder: somewhere"),
    "no nets": (("pictures",), "is not a results folder"),
    "probes": (("--model", "net.py:reader", *ON_PICTURES, "--probes", "oclusion"), "unknown proxy 'oclusion'"),
    "budget": (("--model", "net.py:reader", *ON_PICTURES, "--budget", "2"), "the budget is [2.0]"),
    "classes": (("--model", "net.py:reader", *ON_PICTURES, "--classes", "z"), "--classes names 'z'"),
    "images": (("--model", "net.py:reader", *ON_PICTURES, "--images", "1"), "--images is 1: give 2 or more"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_two(case, pictures, monkeypatch, capsys):
    (pictures / "labels.csv.pt").write_bytes(b"no weights")
    words, message = BAD[case]
    assert typed(monkeypatch, *words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("einstellung: ")
    assert message in said.err
    assert said.err.count("\n") == 1


def test_pictures_of_other_sizes_need_a_size(pictures, monkeypatch, capsys):
    Image.fromarray(np.zeros((20, 24, 3), dtype=np.uint8)).save(pictures / "pictures" / "p0.png")
    save_file(build_backbone("resnet18", {"width": 4}, 3, 1).state_dict(), "net.safetensors")
    words = ("--model", "net.safetensors", "--backbone", "resnet18", "--backbone-option", "width=4", "--mean", "0,0,0")
    assert typed(monkeypatch, *words, "--std", "1,1,1", *ON_PICTURES) == 2
    assert "the images differ in size or are not square (16x16, 24x20): give --size" in capsys.readouterr().err
    assert typed(monkeypatch, *words, "--std", "1,1,1", "--size", "16", *ON_PICTURES, "--json") == 0
