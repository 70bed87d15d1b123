"""The command ``last-layer``: records, the cache of features, repeatability."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from einstellung.cli import cli
from tests.classifiers.tiny import grey, write_net

FONT = Path("/usr/share/fonts/opentype/noto/NotoSerifCJK-ExtraLight.ttc")


def pictures(tmp_path):
    for part, offset in (("train", 0.0), ("test", 0.02)):
        for place, level in enumerate((0.05, 0.1, 0.15, 0.2)):
            grey(tmp_path / part / "dark" / f"{place}.png", level + offset)
            grey(tmp_path / part / "light" / f"{place}.png", level + 0.5 + offset)
            grey(tmp_path / f"{part}_texture" / "dark" / f"{place}.png", level + 0.05 + offset / 2)
            grey(tmp_path / f"{part}_texture" / "light" / f"{place}.png", level + 0.45 + offset / 2)


def run(tmp_path, *arguments):
    model = f"{write_net(tmp_path)}:net"
    folders = (
        "--train",
        "train",  # found where data are looked for
        "--test",
        "test",
        "--epochs",
        5,
        "--seeds",
        2,
        "--rates",
        "1,10",
    )
    return CliRunner().invoke(cli, ["probe", "last-layer", *map(str, ("--model", model, *folders, *arguments))])


def test_the_command_keeps_features_and_repeats_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path))
    pictures(tmp_path)
    shifts = ("--shift", "texture=train_texture", "--test-shift", "texture=test_texture")
    asked = ("--methods", "erm,texture_aug", *shifts, "--out", tmp_path / "out", "--json")
    first = run(tmp_path, *asked)
    assert first.exception is None
    found = json.loads(first.stdout)
    assert list(found["methods"]) == ["erm", "texture_aug"]  # two classes of one's own: no layer as it was
    erm = found["methods"]["erm"]
    assert set(erm["per_seed"]) == {"0", "1"}
    assert erm["clean_acc"]["mean"] == sum(own["clean_acc"] for own in erm["per_seed"].values()) / 2
    assert {"watermark_gap", "texture_gap", "rate"} <= erm["per_seed"]["0"].keys()
    assert json.loads((tmp_path / "out/last_layer.json").read_text()) == found
    assert "train" in first.stderr
    assert set(found["methods"]["texture_aug"]["amplification"]) == {"watermark_gap", "texture_gap"}
    assert "amplification" not in erm
    came_from = found.pop("provenance")
    assert came_from["data"] == {name: facts["content"] for name, facts in found["data"].items()}
    assert set(found["data"]) == {"train", "test", "train, texture", "test, texture"}
    assert found["training"]["weight_decay"] == 1e-4
    assert (found["training"]["epochs"], found["training"]["rates"], found["seeds"]) == (5, [1, 10], [0, 1])
    assert (found["font"], found["versions"]) == (None, 0)  # nothing was drawn
    seed = erm["per_seed"]["0"]
    assert [one["rate"] for one in seed["tried"]] == [1, 10]
    assert seed["held_out"] == 2
    assert seed["held_out_acc"] == max(one["held_out_acc"] for one in seed["tried"])
    assert found["tests"]["texture"] == {"n": 8, "clean_n": 8, "classes": 2}
    again = run(tmp_path, *asked)
    repeated = json.loads(again.stdout)
    del repeated["provenance"]
    assert repeated == found
    assert again.stderr == ""  # features came from the cache


@pytest.mark.skipif(not FONT.is_file(), reason="needs a font with Chinese characters (fonts-noto-cjk-extra)")
def test_random_characters_are_learned_from(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path))
    pictures(tmp_path)
    done = run(tmp_path, "--methods", "erm,wtm_aug,lle", "--versions", 2, "--font", FONT, "--out", tmp_path / "out")
    assert done.exception is None
    for seed in (0, 1):  # drawn anew for every seed
        assert f"seed {seed}, watermark 1" in done.stderr
    assert "| lle |" in done.stdout
    found = json.loads((tmp_path / "out/last_layer.json").read_text())
    assert found["font"] == {"file": str(FONT), "sha256": hashlib.sha256(FONT.read_bytes()).hexdigest()}
    assert found["versions"] == 2
