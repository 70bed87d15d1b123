"""Readers of files that others made: a pipe is not waited for, a huge file is not read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from einstellung.backbones.weights import read_weights, weights_digest
from einstellung.classifiers.weights_file import read_weights_file
from einstellung.errors import InputError
from einstellung.experiments.class_groups import read_groups
from einstellung.experiments.remote import files_of
from einstellung.foreign_files import MOST_TABLE_BYTES, MOST_WEIGHTS_BYTES, sha256_of, text_lines
from einstellung.perception.storage import load_tensors
from einstellung.results.config import build_config
from einstellung.scenes.folders import _image_size
from einstellung.scenes.records import read_records
from einstellung.scenes.summary import _picture
from einstellung.sources.reading import file_hash
from einstellung.training.checkpoint import load_checkpoint, load_state

READERS: dict[str, Callable[[Path], object]] = {
    "records": read_records,
    "size of an image": _image_size,
    "image of a sheet": _picture,
    "slot attention": lambda path: load_tensors(path, "weights of slot attention"),
    "backbone weights": lambda path: read_weights(str(path)),
    "digest of weights": lambda path: weights_digest(str(path)),
    "classifier weights": read_weights_file,
    "groups of classes": read_groups,
    "hash of a log": sha256_of,
    "hash of an archive": lambda path: file_hash(path, "md5"),
    "checkpoint": load_checkpoint,
    "first-phase state": load_state,
    "file for another node": lambda path: files_of(
        build_config({"stream": {"name": "shapes"}, "backbone": {"name": "resnet18", "weights": str(path)}})
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_refused_without_waiting_for_its_writer(name, tmp_path):
    pipe = tmp_path / "pipe.safetensors"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"pipe\.safetensors is (a pipe; give a regular file|not a file)"):
        READERS[name](pipe)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("records", MOST_TABLE_BYTES),
        ("groups of classes", MOST_TABLE_BYTES),
        ("slot attention", MOST_WEIGHTS_BYTES),
        ("backbone weights", MOST_WEIGHTS_BYTES),
        ("digest of weights", MOST_WEIGHTS_BYTES),
        ("classifier weights", MOST_WEIGHTS_BYTES),
        ("file for another node", MOST_WEIGHTS_BYTES),
    ],
)
def test_a_file_above_the_limit_is_refused_unread(name, most, tmp_path):
    huge = tmp_path / "huge.safetensors"
    with huge.open("wb") as file:
        file.truncate(most + 1)  # no blocks on the disk
    with pytest.raises(InputError, match=r"at most .* MiB are read"):
        READERS[name](huge)


@pytest.mark.parametrize("name", [name for name in READERS if not name.startswith("digest")])
def test_a_missing_file_is_named(name, tmp_path):
    with pytest.raises(InputError, match=r"none\.png"):
        READERS[name](tmp_path / "none.png")


def test_lines_are_read_one_at_a_time_and_have_a_limit(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes("one\ntwo ä\n".encode())
    assert list(text_lines(path, 100)) == ["one\n", "two ä\n"]
    path.write_bytes(b"one\n" + b"x" * (2**20 + 1))
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: it is longer than 1 MiB"):
        list(text_lines(path, 2**22))
    path.write_bytes(b"one\n\xff\n")
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: it is not text in UTF-8"):
        list(text_lines(path, 100))
