"""Gaps on ImageNet's variants, on small folders of the right form."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from einstellung.classifiers import load_classifier
from einstellung.cli.shifts import shifts as command
from einstellung.errors import InputError
from einstellung.probes.shifts import Folders, gaps, in9_gap, in9_mapping, renditions_gap, stylized_gap
from tests.classifiers.tiny import grey, write_net

IDS = {f"n0000000{number}": number for number in range(5)}  # the stand-in's five classes, by brightness


def silent(what):
    return lambda done, total: None


@pytest.fixture
def net(tmp_path):
    return load_classifier(f"{write_net(tmp_path)}:net")


def nine(folder, right):
    """ImageNet-9's form: nine folders; class 2 of five is mapped to 0, class 3 to 1, the others to none."""
    for variant in ("mixed_rand", "mixed_same"):
        for number in range(9):
            levels = {0: (0.5, 0.5 if right[variant] else 0.0), 1: (0.75,)}.get(number, (0.0,))
            for place, level in enumerate(levels):
                grey(folder / variant / "val" / f"0{number}_thing" / f"{place}.png", level)
    (folder / "in_to_in9.json").write_text(json.dumps({"0": -1, "1": -1, "2": 0, "3": 1, "4": -1}))


def test_imagenet_9_maps_predictions_and_takes_what_is_outside_as_wrong(net, tmp_path):
    nine(tmp_path, {"mixed_rand": False, "mixed_same": True})
    found = in9_gap(net, tmp_path, silent)
    assert (found["n"], found["reference_n"]) == (10, 10)
    assert found["acc"] == pytest.approx(2 / 10)
    assert found["reference_acc"] == pytest.approx(3 / 10)
    assert found["gap"] == pytest.approx(-1 / 10)
    assert found["interval"][0] <= found["gap"] <= found["interval"][1]


def test_imagenet_9s_mapping_is_read_from_its_own_file(tmp_path):
    (tmp_path / "map.json").write_text('{"0": 8, "3": -1}')
    assert in9_mapping(tmp_path / "map.json", 4).tolist() == [8, -1, -1, -1]
    for content, message in (('{"9": 1}', "is not a table"), ('{"0": 9}', "from 0 to 8"), ("[1]", "is not a table")):
        (tmp_path / "map.json").write_text(content)
        with pytest.raises(InputError, match=message):
            in9_mapping(tmp_path / "map.json", 4)
    with pytest.raises(InputError, match="missing"):
        in9_mapping(tmp_path / "none.json", 4)


def test_imagenet_9_without_nine_folders_is_refused(net, tmp_path):
    nine(tmp_path, {"mixed_rand": True, "mixed_same": True})
    grey(tmp_path / "mixed_rand/val/10_more/0.png", 0.5)
    with pytest.raises(InputError, match="has 10 folders of pictures"):
        in9_gap(net, tmp_path, silent)


def test_stylized_pictures_are_compared_with_plain_ones(net, tmp_path):
    for wnid, number in IDS.items():
        grey(tmp_path / "plain" / f"{number}_{wnid}_x.png", number / 4)
        grey(tmp_path / "styled" / wnid / "a.png", number / 4 if number < 2 else 0.0)
    found = stylized_gap(net, tmp_path / "styled", tmp_path / "plain", IDS, silent)
    assert (found["acc"], found["reference_acc"]) == (pytest.approx(2 / 5), 1.0)
    assert found["gap"] == pytest.approx(-3 / 5)
    assert (found["classes"], found["left_out"], found["reference_left_out"]) == (5, 0, 0)


def test_both_sides_are_restricted_to_the_classes_that_both_have(net, tmp_path):
    """Class 1 is plain only and 3 stylized only; with them the gap would be 2/3 - 2/3 = 0."""
    for number, wnid in ((0, "n00000000"), (2, "n00000002"), (1, "n00000001")):
        grey(tmp_path / "plain" / f"{number}_{wnid}_x.png", number / 4 if number != 1 else 1.0)
    for wnid, level in (("n00000000", 0.0), ("n00000002", 1.0), ("n00000003", 0.75)):
        grey(tmp_path / "styled" / wnid / "a.png", level)
    found = stylized_gap(net, tmp_path / "styled", tmp_path / "plain", IDS, silent)
    assert (found["classes"], found["n"], found["reference_n"]) == (2, 2, 2)
    assert (found["left_out"], found["reference_left_out"]) == (1, 1)
    assert (found["acc"], found["reference_acc"], found["gap"]) == (0.5, 1.0, -0.5)
    narrow = renditions_gap(net, tmp_path / "styled", tmp_path / "plain", IDS, silent)
    assert (narrow["n"], narrow["reference_n"], narrow["chosen_from"]) == (2, 2, 3)


def test_a_net_with_other_classes_than_imagenets_is_refused(net, tmp_path):
    with pytest.raises(InputError, match=r"mine.py:net has 5 classes: these data sets need ImageNet's 1000"):
        gaps(net, Folders(in9=tmp_path), silent)


def test_renditions_count_only_their_own_classes(net, tmp_path):
    """A picture of brightness 1 is class 4; where only 0 and 2 are allowed, the nearer one, 2, is meant."""
    grey(tmp_path / "r/n00000000/a.png", 0.0)
    grey(tmp_path / "r/n00000002/a.png", 1.0)
    grey(tmp_path / "r/n00000002/b.png", 0.1)
    for wnid, number in IDS.items():
        grey(tmp_path / "plain" / wnid / "a.png", number / 4)
    found = renditions_gap(net, tmp_path / "r", tmp_path / "plain", IDS, silent)
    assert found["classes"] == found["chosen_from"] == 2
    assert (found["n"], found["reference_n"]) == (3, 2)
    assert found["acc"] == pytest.approx(2 / 3)
    assert found["gap"] == pytest.approx(2 / 3 - 1)
    grey(tmp_path / "others/4_x.png", 1.0)
    with pytest.raises(InputError, match="has no picture of any class"):
        renditions_gap(net, tmp_path / "r", tmp_path / "others", IDS, silent)


def run(*arguments):
    return CliRunner().invoke(command, list(map(str, arguments)))


def test_the_command_gives_every_gap_and_their_average(tmp_path, monkeypatch):
    file = write_net(tmp_path)
    nine(tmp_path / "in9", {"mixed_rand": False, "mixed_same": True})
    for wnid, number in IDS.items():
        grey(tmp_path / "plain" / f"{number}_{wnid}_x.png", number / 4)
        grey(tmp_path / "styled" / wnid / "a.png", 0.0)
        grey(tmp_path / "r" / wnid / "a.png", number / 4)
    (tmp_path / "copy.py").write_text(file.read_text())
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path))
    models = ("--model", f"{file}:thousand", "--model", f"{tmp_path / 'copy.py'}:thousand")
    folders = [("--imagenet", "plain"), ("--in9", "in9"), ("--stylized", "styled"), ("--imagenet-r", "r")]
    given = [part for option, name in folders for part in (option, name)]  # found where data are looked for
    done = run(*models, *given, "--json", "--out", tmp_path / "out")
    assert done.exception is None
    found = json.loads(done.stdout)
    assert found["average"]["gaps"] == {
        "in9": pytest.approx(-0.1),
        "stylized": pytest.approx(1 / 5 - 1),
        "imagenet_r": pytest.approx(0),
    }
    assert json.loads((tmp_path / "out/shifts.json").read_text()) == found
    own = found["models"][0]["gaps"]
    assert found["provenance"]["data"]["stylized, reference"] == own["stylized"]["reference_content"]
    assert own["stylized"]["reference_content"] == own["imagenet_r"]["reference_content"] != own["stylized"]["content"]
    assert found["provenance"]["finished"] is not None
    assert found["models"][0]["bootstrap"]["resamples"] == 2000
    assert np.array_equal(
        [row.count("|") for row in run(*models, *given).stdout.splitlines() if "average" in row], [7] * 3
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give at least one of --in9"),
        (("--stylized", "styled"), "give --imagenet too"),
        (("--stylized", ".", "--imagenet", "."), "has 0 WordNet ids"),
        (("--in9", "nowhere"), "no such folder: nowhere, also not in"),
        (("--in9", ".", "--out", "mine.py/out"), "cannot use 'mine.py/out': Not a directory"),
    ],
)
def test_what_is_missing_is_said(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = run("--model", f"{write_net(tmp_path)}:net", *arguments)
    assert isinstance(done.exception, InputError) or done.exit_code == 2
    assert message in (str(done.exception) if isinstance(done.exception, InputError) else done.output)
