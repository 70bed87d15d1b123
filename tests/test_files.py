"""Files are whole or not there; a full disk is one clear line."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from einstellung.errors import InputError
from einstellung.files import (
    digest,
    is_leftover,
    read_json,
    remove_leftovers,
    unfinished_folder,
    write_atomically,
    write_json,
    write_text,
)


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = write_text(tmp_path / "a.txt", "before")

    def fail(temporary):
        temporary.write_text("half of")
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        write_atomically(path, fail)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "no space left while writing"), (errno.EACCES, "cannot write .* Permission denied")],
)
def test_errors_of_the_system_are_one_line(tmp_path, number, words):
    def fail(temporary):
        raise OSError(number, os.strerror(number))

    with pytest.raises(InputError, match=words) as caught:
        write_atomically(tmp_path / "a.txt", fail)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_disk_that_is_really_full(tmp_path):
    """A file system of 64 kB, where this process may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("skipped: mounting a small file system is not allowed here")
    try:
        write_text(disk / "small.txt", "fits")
        with pytest.raises(InputError, match=r"no space left while writing .*large\.txt"):
            write_text(disk / "large.txt", "x" * 200_000)
        assert os.listdir(disk) == ["small.txt"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_json_is_strict(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"mean": float("nan")})
    assert not (tmp_path / "a.json").exists()
    for text in ("{half", "[" * 100_000, "9" * 5_000):
        (tmp_path / "b.json").write_text(text)
        with pytest.raises(InputError, match=r"b\.json is not valid JSON"):
            read_json(tmp_path / "b.json")
    with pytest.raises(InputError, match="is missing"):
        read_json(tmp_path / "c.json")


def test_digests_do_not_depend_on_the_process():
    """Pinned: a salted hash would change from one process to the next."""
    assert digest({"seed": 42, "method": "sgd"}) == "8be166c64d97feb9"


def test_a_leftover_goes_once_its_writer_is_dead(tmp_path):
    """Of three temporary files: one by a killed process, one by a living one, one by somebody else's name."""
    script = (
        "import sys, time; from pathlib import Path; from einstellung.files import write_atomically\n"
        "def write(temporary):\n"
        "    temporary.write_text('half'); print(temporary.name, flush=True); time.sleep(600)\n"
        "write_atomically(Path(sys.argv[1]) / 'config.yaml', write)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        half = tmp_path / process.stdout.readline().strip()
        assert is_leftover(half.name)
        remove_leftovers(tmp_path)
        assert half.exists()
    finally:
        process.kill()
        process.wait()
    foreign, link = tmp_path / ".config.writing.yaml", tmp_path / ".a-a1b2c3_d.writing.csv"
    foreign.touch()
    link.symlink_to(foreign)
    remove_leftovers(tmp_path)
    assert not half.exists()
    assert foreign.exists()
    assert link.is_symlink()


def test_what_killed_makers_of_a_folder_left_is_removed(tmp_path):
    program = (
        "import os, signal; from pathlib import Path; from einstellung.files import unfinished_folder\n"
        f"with unfinished_folder(Path({str(tmp_path / 'out')!r}), 'making') as folder:\n"
        "    (folder / 'a').write_text('a'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    assert len(list(tmp_path.iterdir())) == 2  # the folder and its lock
    with unfinished_folder(tmp_path / "out", "making") as folder:
        there = set(tmp_path.iterdir())
        with unfinished_folder(tmp_path / "out", "making"):  # of a process that lives: it stays
            assert there < set(tmp_path.iterdir())
        (folder / "a").write_text("b")
        folder.rename(tmp_path / "out")
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["out", "out/a"]
