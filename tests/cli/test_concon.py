"""``concon make`` and ``concon perceive`` as commands."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from einstellung.cli.concon import make, perceive
from einstellung.errors import InputError
from einstellung.files import read_json


def test_make(tmp_path):
    out = tmp_path / "made"
    settings = {
        "variant": "disjoint",
        "size": 16,
        "train": 1,
        "val": 1,
        "test": 1,
        "seed": 3,
        "backend": "numba",
        "workers": 1,
    }
    words = [*(word for name, value in settings.items() for word in (f"--{name}", str(value))), "--out"]
    shown = CliRunner().invoke(make, [*words, str(out), "--json"], catch_exceptions=False)
    assert shown.exit_code == 0
    shown_json = json.loads(shown.stdout)
    assert shown_json["images"] == 18
    assert shown_json["cases"]["case_disjoint_main"]["complete"]
    assert shown_json["settings"]["seed"] == 3
    again = CliRunner().invoke(make, [*words, str(out)], catch_exceptions=False)
    assert f"18 images in {out}" in again.stdout
    assert "contact_sheet.png" in again.stdout
    assert "rendered: 18 of 18 images" in again.stderr
    refused = CliRunner().invoke(make, [*words, str(out), "--workers", "many"])
    assert isinstance(refused.exception, InputError)


def test_perceive(tmp_path):
    out = tmp_path / "eyes.safetensors"
    words = ["--out", str(out), "--scenes", "8", "--held-out", "4", "--size", "16", "--objects", "2", "--epochs", "1"]
    words += ["--backend", "torch", "--threads", "1"]
    first = CliRunner().invoke(perceive, words)
    assert first.exit_code == 0, first.output
    assert first.stdout.startswith(f"{out} is trained; on 4 held-out scenes:\nshape ")
    assert "epoch 1 of 1: loss" in first.stderr
    again = CliRunner().invoke(perceive, [*words, "--json"])
    assert json.loads(again.stdout) == read_json(tmp_path / "eyes.json")
    assert again.stderr == ""


@pytest.mark.parametrize(
    "wrong",
    [("--threads", "0"), ("--workers", "-1"), ("--seed", "-1"), ("--size", "8"), ("--epochs", "0"), ("--scenes", "0")],
)
def test_perceive_refuses_wrong_options_by_name(tmp_path, wrong):
    refused = CliRunner().invoke(perceive, ["--out", str(tmp_path / "eyes.safetensors"), *wrong])
    assert refused.exit_code == 2
    assert f"'{wrong[0]}': {wrong[1]} is not in the range" in refused.stderr
    assert not list(tmp_path.iterdir())
