"""What the user calls the cues: names that would read as several are refused."""

from __future__ import annotations

import re

import pytest

from einstellung.diagnoses.shortcuts.design import make_design
from einstellung.errors import InputError

from .timelines import PAPERLIKE, study


@pytest.mark.parametrize("name", ["sky+sea", "sky -> sea", " "])
def test_names_of_cues_that_would_read_as_several_are_refused(name):
    with pytest.raises(InputError, match=f"'{re.escape(name)}' cannot be a cue name"):
        make_design(study(PAPERLIKE), cues=(name, "thing"))
