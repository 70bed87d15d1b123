"""Results folders: which are accepted, and which are refused in one line."""

from __future__ import annotations

import pytest
import yaml

from einstellung.errors import InputError
from einstellung.experiments.assembly import resolve
from einstellung.experiments.study import prepare_study
from einstellung.results.config import FORMAT, build_config
from einstellung.results.folder import ResultsFolder
from tests.experiments.conftest import SMALL


@pytest.fixture
def older(tmp_path):
    """A folder as versions without a format number left it."""
    folder = ResultsFolder(tmp_path / "older")
    folder.write_config(resolve(build_config(SMALL)))
    values = yaml.safe_load(folder.config_file.read_text())
    assert values.pop("format") == FORMAT
    folder.config_file.write_text(yaml.safe_dump(values))
    folder.record_file.unlink()
    return folder


def test_a_folder_of_an_older_version_is_refused_in_one_line(older):
    message = (
        "was made by an older version of einstellung; choose another --out, or score its timelines: einstellung score "
    )
    with pytest.raises(InputError, match=message) as caught:
        prepare_study(build_config(SMALL), older.path)
    assert str(older.path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_of_an_older_version_can_still_be_read(older):
    assert older.config().methods == tuple(SMALL["methods"])
    assert older.config().format == FORMAT


def test_what_cannot_be_read_of_an_older_version_is_said_with_what_still_can(older):
    values = yaml.safe_load(older.config_file.read_text())
    older.config_file.write_text(yaml.safe_dump({**values, "guide_files": False}))
    (older.path / "runs").mkdir()
    with pytest.raises(InputError, match="was made by an older version of einstellung") as caught:
        older.config()
    assert f"einstellung score {older.path / 'runs'} --out" in str(caught.value)
    older.config_file.write_text(yaml.safe_dump({**values, "format": FORMAT, "guide_files": False}))
    with pytest.raises(InputError, match=r"config\.yaml: unknown key 'guide_files'"):
        older.config()


def test_a_sweep_of_an_older_version_takes_no_further_value(older):
    from einstellung.results.sweep import with_choices_of_existing

    studies = {older.path.name: build_config(SMALL), "new": build_config(SMALL)}
    with pytest.raises(InputError, match="older version"):
        with_choices_of_existing(older.path.parent, studies)
