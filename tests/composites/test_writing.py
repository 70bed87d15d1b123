"""Folders of composites: written atomically, with sheets and a datasheet."""

from __future__ import annotations

import errno
import shutil

import pytest

from einstellung.composites.writing import write_composites
from einstellung.errors import InputError
from tests.composites.small import few

PHASE = (0.75, 0.75)
SETTINGS = {"size": 32, "seed": 0}
GROUP = "bg-0.75_co_occur_obj-0.75/train/obj-round_bg-blocks_co_occur_obj-plant"


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")


@pytest.fixture(scope="module")
def made():
    return few(phases=(PHASE,))


@pytest.fixture(scope="module")
def written(made, tmp_path_factory):
    out = tmp_path_factory.mktemp("composites") / "folder"
    write_composites(out, made, SETTINGS, lambda done, total: None)
    return out


@pytest.fixture
def folder(written, tmp_path):
    return shutil.copytree(written, tmp_path / "copy")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_folder_that_could_not_be_finished(made, tmp_path, error):
    def on_progress(done, total):
        if done > 30:
            raise error

    with pytest.raises((InputError, KeyboardInterrupt)) as raised:
        write_composites(tmp_path / "out", made, SETTINGS, on_progress)
    assert isinstance(error, KeyboardInterrupt) or "free some space (nothing was written)" in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_taken_is_refused(made, written, tmp_path):
    with pytest.raises(InputError, match="exists: choose another --out"):
        write_composites(written, made, SETTINGS, lambda done, total: None)
    (tmp_path / "empty").mkdir()
    write_composites(tmp_path / "empty", made, SETTINGS, lambda done, total: None)
    assert (tmp_path / "empty" / "datasheet.md").is_file()


def test_sheets_and_datasheet(written, made):
    sheets = sorted(path.name for path in (written / "contact_sheets").iterdir())
    assert len(sheets) == 24
    assert sheets[0] == "test_obj-round_bg-blocks_co_occur_obj-plant.png"
    text = (written / "datasheet.md").read_text()
    assert "40 pictures of 32x32 pixels" in text
    assert "| train | 7 | 2 | 2 | 1 | 7 | 2 | 2 | 1 |" in text
    assert "round: common with blocks backgrounds and sign objects" in text
