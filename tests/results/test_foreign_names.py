"""Names in files that somebody gave us lead nowhere but below the folder they lie in."""

from __future__ import annotations

import pytest
import yaml

from einstellung.errors import InputError
from einstellung.experiments.stored_nets import _first_phase
from einstellung.files import write_json
from einstellung.results.family import read_family
from einstellung.results.folder import ResultsFolder
from einstellung.results.sweep import read_sweep
from tests.experiments.conftest import typed
from tests.view.studies import everything_in, write_study


@pytest.fixture
def victim(tmp_path):
    return write_study(tmp_path / "victim", seeds=(1,), scored=False)


@pytest.mark.parametrize("name", ["../victim", "/absolute", "..", ".", "", "mine/../../victim", "family.html"])
def test_a_family_names_only_folders_in_its_own(tmp_path, victim, monkeypatch, capsys, name):
    given = tmp_path / "given"
    write_study(given / "mine", seeds=(1,), scored=False)
    named = str(victim) if name == "/absolute" else name
    (given / "family.yaml").write_text(yaml.safe_dump({"studies": ["mine", named]}))
    before = everything_in(victim)
    assert typed(monkeypatch, "report", given) == 2
    said = capsys.readouterr().err
    assert "choose a plain name" in said or "is reserved" in said
    assert said.count("\n") == 1
    assert everything_in(victim) == before


def test_a_study_that_is_a_link_out_of_its_family_is_refused(tmp_path, victim):
    given = tmp_path / "given"
    write_study(given / "mine", seeds=(1,), scored=False)
    (given / "theirs").symlink_to(victim)
    (given / "family.yaml").write_text(yaml.safe_dump({"studies": ["mine", "theirs"]}))
    with pytest.raises(InputError, match="is a link to another folder"):
        read_family(given)
    (given / "theirs").unlink()
    (given / "theirs").symlink_to(given / "mine")
    assert read_family(given) == ["mine", "theirs"]


@pytest.mark.parametrize("key", ["../victim/cue.size", "/tmp/cue.size", "cue.size/../../victim", "lr", "cue/x.size"])
def test_a_sweep_names_only_folders_in_its_own(tmp_path, victim, key):
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump({"key": key, "values": [2, 4]}))
    with pytest.raises(InputError, match=r"names"):
        read_sweep(tmp_path)


@pytest.mark.parametrize(
    "named", ["../../victim/first_phases/a", "/etc", "first_phases/../../x", "first_phases/..", "runs/a"]
)
def test_a_run_names_only_first_phases(tmp_path, named):
    with pytest.raises(InputError, match="which is not a folder of first phases"):
        _first_phase(tmp_path, named)
    assert _first_phase(tmp_path, "../first_phases/sgd-seed1") == tmp_path / "../first_phases/sgd-seed1"


def test_a_run_names_only_files_beside_it(tmp_path, victim):
    """A hash of any other file would be told to whoever wrote the record."""
    run = victim / "runs" / "sgd-seed1"
    write_json(run / "status.json", {"state": "finished", "key": "k", "files": {"../../config.yaml": {"bytes": 1}}})
    assert not ResultsFolder(victim).finished("runs/sgd-seed1", "k")
