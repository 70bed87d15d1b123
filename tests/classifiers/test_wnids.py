"""Class numbers by WordNet id."""

from __future__ import annotations

import json

import pytest

from einstellung.classifiers.labelled import from_wnid_folders
from einstellung.classifiers.wnids import known_wnids, wnids_in
from einstellung.errors import InputError
from tests.classifiers.tiny import grey

IDS = [f"n{number:08d}" for number in range(5, 2005, 2)]


def test_ids_are_numbered_in_their_own_order(tmp_path):
    lines = tmp_path / "ids.txt"
    lines.write_text("\n".join(f"{one} some name" for one in reversed(IDS)))
    assert wnids_in(lines) == {one: number for number, one in enumerate(IDS)}
    table = tmp_path / "ids.json"
    table.write_text(json.dumps({"0": ["n01440764", "tench"], "1": ["n01443537", "goldfish"]}))
    assert wnids_in(table) == {"n01440764": 0, "n01443537": 1}
    lines.write_text("\n".join(IDS[:-1]))
    with pytest.raises(InputError, match=r"has 999 WordNet ids.*all 1000"):
        wnids_in(lines)
    lines.write_text("tench\n")
    with pytest.raises(InputError, match="'tench' is not a WordNet id"):
        wnids_in(lines)


def test_numbered_files_give_ids_and_folders_use_them(tmp_path):
    grey(tmp_path / "plain/2_n01484850_shark.png", 0.5)
    grey(tmp_path / "styled/n01484850/a.png", 0.5)
    ids = known_wnids(None, tmp_path / "plain")
    assert from_wnid_folders(tmp_path / "styled", ids).labels.tolist() == [2]
    grey(tmp_path / "styled/n01484851/a.png", 0.5)
    with pytest.raises(
        InputError, match="'n01484851' is a class whose number is unknown; give all 1000 ids with --wnids"
    ):
        from_wnid_folders(tmp_path / "styled", ids)
