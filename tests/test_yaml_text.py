"""The one loader of YAML: what it accepts, and one line with the place for everything that it refuses."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.errors import InputError
from einstellung.results.config import PRESETS
from einstellung.yaml_text import MOST_BYTES, MOST_LEVELS, MOST_NODES, parse_yaml, read_yaml
from tests.faults.hostile import YAML

# every one is refused by the loader itself; the others are plain values that no configuration can be made of
ACCEPTED = {
    *("invalid date", "invalid time", "a list", "a word", "a number"),
    *("one line of 2 MB", "200,000 lines", "not UTF-8", "a picture"),  # of files
}


@pytest.fixture(params=["libyaml", "Python"])
def parser(request, monkeypatch) -> str:
    if request.param == "Python":
        monkeypatch.setattr(yaml, "__with_libyaml__", False)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")
    return request.param


@pytest.mark.parametrize("name", sorted(YAML.keys() - ACCEPTED))
def test_hostile_documents_are_refused_in_one_line(parser, name):
    before = time.process_time()
    with pytest.raises(InputError, match=r"^mine\.yaml") as caught:
        parse_yaml(YAML[name].decode(), "mine.yaml")
    assert len(str(caught.value)) < 290
    assert time.process_time() - before < 10  # of computing; all but two take milliseconds


def test_the_place_is_named(parser):
    for text, place in (
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "line 4, column 3: the key 'c' appears twice, first in line 3"),
        ("a: 1\nb: !!bool x\n", "line 2, column 4: 'x' is not a valid bool"),
        ("a: [1, 2\n", "line "),
        ("a: &x [1, *x]", "line 1, column 11: 'x' contains itself"),
        ("a: !!python/name:os.system ''", "line 1, column 4: the YAML tag '!!python/name:os.system' is not allowed"),
    ):
        with pytest.raises(InputError) as caught:
            parse_yaml(text, "x.yaml")
        assert str(caught.value).startswith(f"x.yaml, {place}"), str(caught.value)


def test_dates_stay_text_and_aliases_and_merges_work(parser):
    assert parse_yaml("a: 2020-13-45\nb: 2024-05-01", "x") == {"a": "2020-13-45", "b": "2024-05-01"}
    text = "base: &b {lr: 0.1, epochs: 2}\nmine:\n  <<: *b\n  lr: 0.2\nagain: *b\n"
    assert parse_yaml(text, "x") == {
        "base": {"lr": 0.1, "epochs": 2},
        "mine": {"lr": 0.2, "epochs": 2},  # what is merged may be replaced
        "again": {"lr": 0.1, "epochs": 2},
    }


def test_the_limits_are_where_they_say(parser):
    assert parse_yaml("[" * MOST_LEVELS + "]" * MOST_LEVELS, "x") is not None
    with pytest.raises(InputError, match=f"more than {MOST_LEVELS} levels"):
        parse_yaml("[" * (MOST_LEVELS + 1) + "]" * (MOST_LEVELS + 1), "x")
    assert len(parse_yaml(f"[{'1,' * (MOST_NODES - 1)}]", "x")) == MOST_NODES - 1
    with pytest.raises(InputError, match=f"more than {MOST_NODES:,} values"):
        parse_yaml(f"[{'1,' * MOST_NODES}]", "x")
    with pytest.raises(InputError, match="aliases count"):
        parse_yaml(f"a: &a [{'1,' * 999}1]\nb: [{'*a,' * 20}*a]", "x")
    with pytest.raises(InputError, match="at most"):
        parse_yaml("a" * (MOST_BYTES + 1), "x")


# PyYAML's two parsers differ in small things, such as '!' alone and a line break of Unicode: the one that is in use
REFERENCE = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
TEXT = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))
)  # line breaks of Unicode are an old difference
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(PLAIN)
def test_what_yaml_writes_of_plain_values_is_read_as_yaml_reads_it(value):
    text = yaml.safe_dump(value, allow_unicode=True)
    assert parse_yaml(text, "x") == yaml.safe_load(text) == value


@settings(deadline=None)
@given(st.text("ab1: -[]{}&*!,'\"#\n<|>?%@") | st.text())
def test_any_text_is_read_as_yaml_reads_it_or_refused(text):
    with suppress(InputError):
        value = parse_yaml(text, "x")
        assert repr(value) == repr(yaml.load(text, REFERENCE))


@pytest.mark.parametrize("preset", sorted(PRESETS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_presets_are_read_as_before(preset):
    assert read_yaml(preset) == yaml.safe_load(preset.read_text())


def test_files_that_are_none_are_named(tmp_path):
    cases: list[tuple[Callable[[Path], object], str]] = [
        (lambda path: None, "no such configuration"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.write_bytes(b"a: \xff"), r"not text in UTF-8 \(byte 4\)"),
        (lambda path: path.write_bytes(b" " * (MOST_BYTES + 1)), "at most 1 MiB are read"),
        (lambda path: path.symlink_to(path.name), "cannot read"),
    ]
    for number, (make, message) in enumerate(cases):
        path = tmp_path / f"{number}.yaml"
        make(path)
        with pytest.raises(InputError, match=message) as caught:
            read_yaml(path, f"no such configuration: {path}")
        assert str(path) in str(caught.value)
