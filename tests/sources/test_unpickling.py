"""Plain arrays are read; nothing that a pickle could start is started."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.sources.unpickling import read_pickle
from tests.sources.archives import python2_pickle

PIXELS = np.arange(2 * 3072, dtype=np.uint8).reshape(2, 3072)
FINE = {"fine_labels": [7, 3], "data": PIXELS, "batch_label": "one"}


def test_arrays_and_lists_as_python_2_wrote_them():
    content = read_pickle(python2_pickle(FINE), "here")
    assert np.array_equal(content["data"], PIXELS)
    assert content["data"].dtype == np.uint8
    assert content["fine_labels"] == [7, 3]
    assert content["batch_label"] == b"one"


def test_the_writer_of_these_tests_writes_what_any_reader_reads():
    plain = pickle.loads(python2_pickle(FINE), encoding="bytes")
    assert np.array_equal(plain[b"data"], PIXELS)


def payloads(marker) -> dict[str, bytes]:
    """Opcodes that leave ``marker`` behind when they are run."""
    shell = f"touch {marker}".encode()
    code = f"open({str(marker)!r}, 'w').close()".encode()
    return {
        "os.system": b"cos\nsystem\n(U" + bytes([len(shell)]) + shell + b"tR",
        "posix.system": b"cposix\nsystem\n(U" + bytes([len(shell)]) + shell + b"tR",
        "eval": b"c__builtin__\neval\n(T" + len(code).to_bytes(4, "little") + code + b"tR",
        "exec in the names of Python 3": b"cbuiltins\nexec\n(T" + len(code).to_bytes(4, "little") + code + b"tR",
        "an instance": b"(U" + bytes([len(shell)]) + shell + b"ios\nsystem\n",
    }


@pytest.mark.parametrize("kind", payloads("x"))
@pytest.mark.parametrize("nested", [False, True])
def test_a_pickle_that_runs_something_is_refused_and_runs_nothing(tmp_path, kind, nested):
    marker = tmp_path / "was-run"
    payload = payloads(marker)[kind]
    content = python2_pickle({**FINE, "more": [1, {"deep": payload}]} if nested else payload)
    with pytest.raises(InputError, match=r"^here is refused: it refers to \S+, which plain arrays do not need$"):
        read_pickle(content, "here")
    assert not marker.exists()
    pickle.loads(content, encoding="latin1")
    assert marker.exists()  # the payload is a real one: only the refusal kept it from running


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numpy", "load"),
        ("numpy", "ndarray.tofile"),
        ("numpy.core.multiarray", "fromfile"),
        ("numpy.core.multiarray", "_reconstruct.__self__"),
        ("_codecs", "encode"),
        ("copy_reg", "_reconstructor"),
        ("einstellung.files", "write_text"),
    ],
)
@pytest.mark.parametrize("protocol", [2, 4])
def test_other_names_than_the_three_that_are_needed(module, name, protocol):
    by_name = {
        2: f"\x80\x02c{module}\n{name}\n.".encode("latin1"),
        4: b"\x80\x04" + b"".join(b"\x8c" + bytes([len(word)]) + word.encode() for word in (module, name)) + b"\x93.",
    }
    with pytest.raises(InputError, match="is refused: it refers to"):
        read_pickle(by_name[protocol], "here")


def test_a_file_that_is_cut_anywhere_is_one_line():
    whole = python2_pickle({"data": PIXELS[:1, :40], "fine_labels": [3], "name": "x"})
    for end in range(len(whole)):
        with pytest.raises(InputError, match=r"^here is not a readable pickle"):
            read_pickle(whole[:end], "here")


@pytest.mark.parametrize("content", [python2_pickle([1, 2]), python2_pickle({3: "a"}), b"", b"\x1f\x8b not a pickle"])
def test_anything_but_a_dictionary_of_names(content):
    with pytest.raises(InputError, match=r"^here (does not hold a dictionary|is not a readable pickle)"):
        read_pickle(content, "here")
