"""Code and data of a page: small, allowed by their hash, and unable to leave their tags."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.diagnoses import diagnoses
from einstellung.report.scripts import json_data, page_script

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES)
def test_data_come_back_and_cannot_end_their_tag(value):
    text = json_data(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_data({"x": float("nan")})


@pytest.mark.parametrize("name", list(diagnoses))
def test_the_code_of_every_page_is_small(name):
    assert len(page_script(diagnoses[name]().scripts()).encode()) <= 120_000


def test_a_diagnosis_own_code_runs_after_what_all_pages_share_and_before_the_start(tmp_path):
    own = tmp_path / "own.js"
    own.write_text("parts.push(() => mine());")
    code = str(page_script([own]))
    assert code.index("const parts=[]") < code.index("mine()") < code.index("parts.forEach")


@pytest.mark.parametrize("text", ['x = "</script>";', 'x = "</SCRIPT >";', 'x = "<!--";'])
def test_code_that_would_end_its_tag_is_refused(tmp_path, text):
    own = tmp_path / "own.js"
    own.write_text(text)
    with pytest.raises(ValueError, match="close its tag"):
        page_script([own])
