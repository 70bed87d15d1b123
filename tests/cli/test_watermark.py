"""The command ``watermark``: files, JSON and errors."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

from einstellung.classifiers.labelled import read_labelled
from einstellung.cli import cli
from einstellung.errors import InputError
from tests.classifiers.tiny import grey, write_net


@pytest.fixture
def pictures(tmp_path):
    """Three dark ones (0) and one bright one (2) named rightly, one dark one that is called 1."""
    for name, level in {"0_a": 0.1, "0_b": 0.2, "0_c": 0.05, "2_d": 0.99, "1_n00000001_carton": 0.15}.items():
        grey(tmp_path / "pictures" / f"{name}.png", level)
    return read_labelled(tmp_path / "pictures")


def run(*arguments):
    return CliRunner().invoke(cli, ["probe", "watermark", *map(str, arguments)], catch_exceptions=True)


def test_the_command_prints_json_and_writes_files(tmp_path, pictures):
    model, out = f"{write_net(tmp_path)}:net", tmp_path / "out"
    asked = ("--model", model, "--images", tmp_path / "pictures", "--class", 1, "--controls", "shuffled,latin")
    done = run(*asked, "--json", "--out", out)
    assert done.exception is None
    found = json.loads(done.stdout)
    assert json.loads((out / "watermark.json").read_text()) == found
    assert found["images"] == {"files": 5, "classes": 3, "content": pictures.digest}
    assert found["seed"] == 0
    came_from = found["provenance"]
    assert came_from["data"] == {str(tmp_path / "pictures"): pictures.digest}
    assert came_from["finished"] >= came_from["started"]
    assert {"torch", "pillow"} <= {name for name, version in came_from["packages"].items() if version}
    wanted = {
        "n",
        "clean_acc",
        "watermark_acc",
        "gap",
        "p_carton_clean",
        "p_carton_watermark",
        "top_rising_class",
        "controls",
    }
    assert wanted <= found.keys()
    assert "about" not in done.stdout
    assert "5 of 5 images" in done.stderr
    rows = list(csv.DictReader((out / "watermark.csv").open()))
    assert float(rows[0]["gap"]) == found["gap"]
    assert [row["control"] for row in csv.DictReader((out / "controls.csv").open())] == ["shuffled", "latin"]
    for name in ("watermark", "samples"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_several_models_have_an_average_row(tmp_path, pictures):
    file = write_net(tmp_path)
    text = file.read_text().replace('"std": [1, 1, 1]', '"std": [2, 2, 2]', 1)
    (tmp_path / "other.py").write_text(text)
    models = ("--model", f"{file}:net", "--model", f"{tmp_path / 'other.py'}:net", "--images", tmp_path / "pictures")
    done = run(*models, "--class", 1, "--controls", "none")
    assert done.exception is None
    assert "| average |" in done.stdout
    found = json.loads(run(*models, "--class", 1, "--controls", "latin", "--json").stdout)
    accuracies = [record["clean_acc"] for record in found["models"]]
    assert len(set(accuracies)) == 2
    assert found["average"]["clean_acc"] == pytest.approx(sum(accuracies) / 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--class", 5), "no class 5: .*:net has 5, from 0"),
        (("--controls", "magic"), "no control 'magic': give some of shuffled"),
        (("--threads", 0), "--threads is 0"),
        (("--labels", "nowhere.csv"), "cannot read nowhere.csv"),
        (("--images", "nowhere"), "no such folder: nowhere, also not in"),
    ],
)
def test_what_is_given_wrongly_is_said_and_nothing_is_written(tmp_path, pictures, arguments, message):
    model = f"{write_net(tmp_path)}:net"
    done = run("--model", model, "--images", tmp_path / "pictures", "--out", tmp_path / "out", *arguments)
    assert isinstance(done.exception, InputError)
    with pytest.raises(InputError, match=message):
        raise done.exception
    assert not (tmp_path / "out").exists()


def test_folders_by_wordnet_ids_are_mapped_and_a_net_without_a_linear_layer_is_asked(tmp_path):
    """Two folders of five classes: refused where nothing says which classes they are."""
    for wnid, level in (("n00000003", 0.5), ("n00000009", 0.99)):
        grey(tmp_path / "pictures" / wnid / "a.png", level)
    asked = (
        "--model",
        f"{write_net(tmp_path)}:pooled",
        "--images",
        tmp_path / "pictures",
        "--class",
        1,
        "--controls",
        "none",
    )
    refused = run(*asked)
    assert isinstance(refused.exception, InputError)
    assert "has 2 folders of pictures but" in str(refused.exception)
    (tmp_path / "ids.json").write_text(json.dumps({"2": "n00000003", "4": "n00000009"}))
    found = json.loads(run(*asked, "--wnids", tmp_path / "ids.json", "--json").stdout)
    assert (found["n"], found["clean_acc"]) == (2, 1.0)


def test_an_impossible_output_folder_is_refused_before_anything_is_computed(tmp_path, pictures, monkeypatch):
    def computed(*given):
        raise AssertionError("weights were read")

    monkeypatch.setattr("einstellung.classifiers.load_classifier", computed)
    taken = tmp_path / "taken"
    taken.write_text("a file")
    study = tmp_path / "study"
    study.mkdir()
    (study / "config.yaml").write_text("")
    for out, message in (
        (taken, "is a file"),
        (taken / "deeper", "Not a directory"),
        (study, "results folder of a study"),
    ):
        done = run("--model", "efficientnet-lite0", "--images", tmp_path / "pictures", "--out", out)
        assert isinstance(done.exception, InputError) or done.exit_code == 2
        assert message in (str(done.exception) if isinstance(done.exception, InputError) else done.output)
