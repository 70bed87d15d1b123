"""The verb ``concon-render`` with a few pictures: what it counts, and what it says of a backend that is not there."""

from __future__ import annotations

import torch

from benchmarks import concon_render
from einstellung.errors import InputError

FEW = {"numba": {64: 2, 128: 1}, "torch": {64: 1, 128: 1}}


def without_numba(name: str) -> str:
    if name != "torch":
        raise InputError(f"the backend '{name}' needs more")
    return name


def test_what_is_missing_is_reported_and_the_rest_measured(monkeypatch):
    monkeypatch.setattr(concon_render, "COUNTS", FEW)
    monkeypatch.setattr(concon_render, "resolve_backend", without_numba)
    monkeypatch.setattr(concon_render, "interleaved", lambda works, repeats: {name: [0.5] * repeats for name in works})
    threads = torch.get_num_threads()
    found = concon_render.measure(short=True)
    assert torch.get_num_threads() == threads
    assert [(row["what"], row["measured"]) for row in found["rows"]] == [
        ("scenes laid out per second and core", "4 (4 to 4, 3 times)"),
        ("images per second and core, numba", "not measured: the backend 'numba' needs more"),
        ("images per second and core, torch, 64 x 64", "2 (2 to 2, 3 times)"),
        ("images per second and core, torch, 128 x 128", "2 (2 to 2, 3 times)"),
        (
            "images per core-second, Blender, 64 x 64, its start included",
            "not measured: the backend 'bpy' needs more",
        ),
    ]


def test_each_work_renders_as_many_pictures_as_are_counted_for_it(monkeypatch):
    monkeypatch.setattr(concon_render, "resolve_backend", str)
    seen: list[tuple[str, int, int]] = []

    def counted(scenes, size, backend):
        seen.append((backend, size, len(scenes)))
        sum(range(100_000))  # something to clock

    monkeypatch.setattr(concon_render, "COUNTS", FEW)
    monkeypatch.setattr(concon_render, "render", counted)
    monkeypatch.setattr(concon_render, "blender_row", lambda scenes, size: {"what": "Blender"})
    rows = concon_render.measure(short=True)["rows"]
    assert set(seen) == {(backend, size, count) for backend, counts in FEW.items() for size, count in counts.items()}
    assert [row["reached"] for row in rows[:-2]] == [None] * 5
    assert rows[-2]["reach"] == "at most 5"


def test_the_whole_is_reached_or_not():
    # 31,500 scenes a process in 300 seconds: 105 a second
    assert concon_render.whole_row([210.0], [211.0])["reached"] is True
    assert concon_render.whole_row([210.0], [209.0])["reached"] is False
