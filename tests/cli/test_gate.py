"""``einstellung gate``: files, folders and models in, exit codes and files out, bad input in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from einstellung.backbones.registry import build_backbone
from einstellung.cli import main
from tests.experiments.audits import BOX, patched_images
from tests.gating.tables import drawn, predictions

PLUGIN = """
from tests.experiments.audits import PatchReader

NORMAL = {"size": 16, "resize": 16, "mean": [0, 0, 0], "std": [1, 1, 1], "squash": True}

def reader():
    return PatchReader(), NORMAL

def blind():
    return PatchReader(scale=0.0), NORMAL
"""


def typed(monkeypatch, *words) -> int:
    monkeypatch.setattr("sys.argv", ["einstellung", "gate", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn(1000, 0.9, 0.8, 1).to_csv("old.csv", index=False)
    drawn(1000, 0.95, 0.7, 2).to_csv("worse.csv", index=False)
    drawn(1000, 0.9, 0.8, 1).to_parquet("same.parquet")
    predictions({"cue": [1] * 50, "covered": [1] * 50}).to_csv("few.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "first"),
    [
        (("--before", "old.csv", "--after", "same.parquet"), 0, "PASS: reliance changed by 0.000"),
        (("--before", "old.csv", "--after", "worse.csv"), 1, "FAIL: reliance rose by +0.150"),
        (("--before", "few.csv", "--after", "few.csv"), 3, "INCONCLUSIVE: reliance changed by 0.000"),
        (("--before", "few.csv", "--after", "few.csv", "--inconclusive", "pass"), 0, "INCONCLUSIVE"),
        (("--before", "few.csv", "--after", "few.csv", "--inconclusive", "fail"), 1, "INCONCLUSIVE"),
        (("--before", "few.csv", "--after", "few.csv", "--max-delta", "0.2"), 0, "PASS"),
        (("--before", "old.csv", "--after", "worse.csv", "--max-delta", "0.5"), 0, "PASS"),
        (("--before", "worse.csv", "--after", "old.csv", "--max-flips", "0.01"), 1, "FAIL: negative flips"),
    ],
)
def test_exit_codes_and_the_line(files, monkeypatch, capsys, words, code, first):
    assert typed(monkeypatch, *words) == code
    said = capsys.readouterr().out
    assert said.startswith(first)
    assert "reliance Δ" in said


def test_json_and_files(files, monkeypatch, capsys):
    words = ("--json", "--markdown", "a/gate.md", "--junit", "a/gate.xml", "--out", "page")
    assert typed(monkeypatch, "--before", "old.csv", "--after", "worse.csv", *words) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["report"] == "page/gate.html"
    assert json.loads((files / "page/gate.json").read_text()) == {
        key: value for key, value in shown.items() if key != "report"
    }
    assert (files / "a/gate.md").read_text() == (files / "page/gate.md").read_text()
    assert ElementTree.parse(files / "a/gate.xml").getroot().get("failures") == "1"


def test_no_torch_for_predictions(files):
    code = (
        "import sys; sys.argv[1:] = ['gate', '--before', 'old.csv', '--after', 'same.parquet', '--out', 'page']\n"
        "from einstellung.cli import main\n"
        "try: main()\n"
        "finally: assert not {'torch', 'matplotlib'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(PLUGIN)
    images, labels = patched_images(per_class=10)
    lines = ["file,label,name"]
    (tmp_path / "pictures").mkdir()
    for number, (image, label) in enumerate(zip(images, labels.tolist(), strict=True)):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(tmp_path / "pictures" / f"p{number}.png")
        lines.append(f"p{number}.png,{label},{'abc'[label]}")
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    return tmp_path


ON_PICTURES = ("--data", "pictures", "--labels", "labels.csv")
AT_BOX = ("--box", ",".join(map(str, BOX)), "--classes", "b")


def test_two_models_and_a_box(pictures, monkeypatch, capsys):
    words = ("--before", "net.py:blind", "--after", "net.py:reader", "--baseline", "net.py:blind")
    assert typed(monkeypatch, *words, *ON_PICTURES, *AT_BOX, "--json", "--out", "gate") in (1, 3)
    shown = json.loads(capsys.readouterr().out)
    assert shown["sources"] == {"before": "net.py:blind", "after": "net.py:reader", "baseline": "net.py:blind"}
    assert shown["accuracy"]["cue"]["after"] == 1.0  # the reader goes by the patch, which all of class b have
    assert shown["delta_after"] > shown["delta_before"]
    assert (shown["n"], shown["accuracy"]["clean"]["n"]) == (10, 20)
    assert shown["baseline"]["sfr_rel_before"] == 0
    # the predictions are kept, and give the same answer without the models
    again = ("--before", "gate/predictions_before.csv", "--after", "gate/predictions_after.csv", "--json")
    typed(monkeypatch, *again)
    assert json.loads(capsys.readouterr().out)["ci95"] == shown["ci95"]


def test_boxes_of_an_audit(pictures, monkeypatch, capsys):
    found = {"kind": "localised", "class": 1, "shared_with": [], "strength": 3.0, "input_box": list(BOX), "images": []}
    audit = {
        "image_size": [16, 16],
        "settings": {"preparation": {"size": 16, "resize": 16, "squash": True}},
        "class_names": {"0": "a", "1": "b", "2": "c"},
        "models": {"net": {"findings": [found]}},
        "image_names": [],
    }
    (pictures / "audit").mkdir()
    (pictures / "audit/audit.json").write_text(json.dumps(audit))
    words = ("--before", "net.py:blind", "--after", "net.py:reader", *ON_PICTURES, "--json")
    typed(monkeypatch, *words, *AT_BOX)
    by_box = json.loads(capsys.readouterr().out)
    typed(monkeypatch, *words, "--audit", "audit")
    assert json.loads(capsys.readouterr().out) == by_box
    audit |= {"image_size": [32, 32], "settings": {"preparation": {"size": 32, "resize": 32, "squash": True}}}
    (pictures / "audit/audit.json").write_text(json.dumps(audit))
    typed(monkeypatch, *words, "--audit", "audit")
    shown = json.loads(capsys.readouterr().out)
    assert (shown["n"], shown["accuracy"]["clean"]["n"]) == (10, 20)  # scaled: these models take whole pictures


def test_weights_files(pictures, monkeypatch, capsys):
    for name, seed in (("old.safetensors", 1), ("new.safetensors", 2)):
        save_file(build_backbone("resnet18", {"width": 4}, 3, seed).state_dict(), name)
    words = ("--backbone", "resnet18", "--backbone-option", "width=4", "--mean", "0,0,0", "--std", "1,1,1", "--json")
    typed(monkeypatch, "--before", "old.safetensors", "--after", "new.safetensors", *ON_PICTURES, *AT_BOX, *words)
    shown = json.loads(capsys.readouterr().out)
    assert shown["calibration"]["cue"]["n"] == 10
    assert torch.isfinite(torch.tensor(shown["rise"]))


MODELS = ("--before", "net.py:blind", "--after", "net.py:reader")
BAD = {
    "nothing": ((), "Missing option '--before'"),
    "no file": (("--before", "a.csv", "--after", "b.csv"), "a.csv does not exist"),
    "limit": (("--before", "a.csv", "--after", "b.csv", "--max-flips", "2"), "--max-flips is 2"),
    "no limit": (
        ("--before", "a.csv", "--after", "b.csv", "--max-delta", "nan"),
        "'--max-delta': nan is not a finite number",
    ),
    "choice": (("--before", "a.csv", "--after", "b.csv", "--inconclusive", "maybe"), "'maybe' is not one of"),
    "model option": (("--before", "a.csv", "--after", "b.csv", "--box", "1,1,2,2"), "--box is for models with --data"),
    "cover": (("--before", "a.csv", "--after", "b.csv", "--cover", "mean"), "--cover is for models with --data"),
    "out": (("--before", "a.csv", "--after", "b.csv", "--out", "labels.csv"), "labels.csv is a file"),
    "method": (
        ("--before", "labels.csv", "--after", "labels.csv", "--method", "sgd"),
        "--method is for a results folder",
    ),
    "no box": ((*MODELS, *ON_PICTURES), "give --box top,left,height,width or --audit FOLDER"),
    "two boxes": ((*MODELS, *ON_PICTURES, *AT_BOX, "--audit", "x"), "(one of the two)"),
    "box": ((*MODELS, *ON_PICTURES, "--box", "1,2,3"), "--box 1,2,3: give top,left,height,width"),
    "outside": ((*MODELS, *ON_PICTURES, "--box", "10,10,10,2"), "does not lie within the model's input of 16 x 16"),
    "filling": ((*MODELS, *ON_PICTURES, *AT_BOX, "--cover", "blck"), "--cover blck: did you mean 'black'?"),
    "classes": ((*MODELS, *ON_PICTURES, "--box", "1,1,2,2", "--classes", "z"), "--classes names 'z'"),
    "seed": ((*MODELS, *ON_PICTURES, *AT_BOX, "--seed", "1"), "--method and --seed are for results folders"),
    "no audit": ((*MODELS, *ON_PICTURES, "--audit", "nowhere"), "nowhere is missing"),
    "model": (("--before", "x", "--after", "y", *ON_PICTURES, *AT_BOX), "there is no classifier 'x'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_two(case, pictures, monkeypatch, capsys):
    words, message = BAD[case]
    held = sorted(pictures.rglob("*"))
    assert typed(monkeypatch, *words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert sorted(pictures.rglob("*")) == held
