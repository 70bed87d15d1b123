"""Work that is shared among processes: in order, with clear errors, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.scenes import work_chunks
from einstellung.scenes.rules import PAPER_RULES
from einstellung.scenes.work_chunks import RenderSettings, WorkChunk, chunks_of, map_in_processes, render_chunk

SETTINGS = RenderSettings(PAPER_RULES, size=16, seed=3, backend="numba")


def test_positives_come_first_and_every_number_once():
    found = chunks_of("strict", "train", 2, 600)
    labels = [chunk.label for chunk in found for _ in chunk.names]
    assert labels == [1] * 600 + [0] * 600
    names = [name for chunk in found for name in chunk.names]
    assert names[:2] == ["t2/1/000000.png", "t2/1/000001.png"]
    assert names[-1] == "t2/0/000599.png"
    assert len(set(names)) == 1200


def test_a_scene_does_not_depend_on_its_chunk():
    together = render_chunk(WorkChunk("disjoint", "val", 1, 0, first=4, count=3), SETTINGS)
    alone = render_chunk(WorkChunk("disjoint", "val", 1, 0, first=5, count=1), SETTINGS)
    assert np.array_equal(together.images[1:2], alone.images)
    assert np.array_equal(together.masks[1:2], alone.masks)
    assert np.array_equal(together.scenes.position[1:2], alone.scenes.position)


def test_another_class_split_or_seed_is_another_scene():
    chunk = WorkChunk("strict", "train", 0, 1, first=0, count=1)
    others = [
        (chunk, RenderSettings(PAPER_RULES, 16, 4, "numba")),
        (WorkChunk("strict", "test", 0, 1, 0, 1), SETTINGS),
        (WorkChunk("strict", "train", 1, 1, 0, 1), SETTINGS),
        (WorkChunk("strict", "train", 0, 0, 0, 1), SETTINGS),
        (WorkChunk("disjoint", "train", 0, 1, 0, 1), SETTINGS),
    ]
    first = render_chunk(chunk, SETTINGS).scenes.position
    assert not any(np.array_equal(render_chunk(*other).scenes.position, first) for other in others)


def test_only_what_is_compiled_is_prepared(monkeypatch):
    drawn = []
    monkeypatch.setattr(work_chunks, "render_chunk", lambda chunk, settings: drawn.append((chunk.count, settings.size)))
    for backend in ("numba", "torch", "bpy"):
        work_chunks.compile_renderer(
            WorkChunk("strict", "train", 0, 1, 0, 250), RenderSettings(PAPER_RULES, 224, 0, backend)
        )
    assert drawn == [(1, 16)]


def _fate(number: int) -> int:
    if number == 2:
        os._exit(9)
    return number


def test_a_process_that_is_ended_from_outside_is_one_clear_line():
    with pytest.raises(InputError, match="was killed: rerun the command"):
        list(map_in_processes(_fate, [1, 2, 3], workers=2))


def _note(place: str) -> None:
    Path(place).write_text(str(os.getpid()))
    time.sleep(60)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_workers_do_not_outlive_a_process_that_is_killed(tmp_path):
    places = [str(tmp_path / "one"), str(tmp_path / "two")]
    code = f"""if __name__ == "__main__":
    from einstellung.scenes.work_chunks import map_in_processes
    from tests.scenes.test_work_chunks import _note
    list(map_in_processes(_note, {places!r}, workers=2))
"""
    script = tmp_path / "draws.py"
    script.write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    killed = subprocess.Popen([sys.executable, str(script)], env=environment)
    try:
        _until(lambda: all(Path(place).is_file() and Path(place).read_text() for place in places))
    finally:
        killed.kill()
        killed.wait()
    workers = [int(Path(place).read_text()) for place in places]
    _until(lambda: not any(_lives(worker) for worker in workers))


def _until(condition) -> None:
    """Within a minute, on however busy a machine."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False
