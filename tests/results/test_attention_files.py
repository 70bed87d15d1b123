"""Attention that runs left: read in full, silent where nobody asked, clear where a file is odd, and nothing is unpickled."""

from __future__ import annotations

import io

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.results.attention_files import ROLLOUT, read_attention, read_maps, read_readings
from tests.diagnoses.rigidity.attention_made import attention_files, corner_map, share, weight, write_attention

RUNS = [("sgd", 1), ("sgd", 2)]
HEAD = "phase,epoch,split,n,layer,head,AS,boxed,entropy,ADI\n"


def test_what_was_written_is_read_to_the_last_number(tmp_path):
    write_attention(tmp_path / "runs/sgd-seed1", "sgd", 1)
    found, problems = read_attention(tmp_path, RUNS[:1])
    run = found["sgd", 1]
    assert problems == []
    rows, _ = attention_files("sgd", 1)
    assert len(run.readings) == len(rows)
    assert run.moments == [("T1", 8.0), ("T2", 1.0), ("T2", 4.0), ("T2", 8.0)]
    assert run.end("T1") == ("T1", 8.0)
    assert run.end("T2") == ("T2", 8.0)
    assert run.end("T3") is None
    assert run.places == [ROLLOUT, ("1", "1"), ("1", "2"), ("1", "mean"), ("2", "1"), ("2", "2"), ("2", "mean")]
    corner = weight("sgd", "T2", 4.0, "T2_shortcut_normal", 1)
    reading = run.readings[("T2", 4.0), "T2_shortcut_normal", ("2", "2")]
    assert (reading.AS, reading.n) == (pytest.approx(share(corner * 4)), 50)
    assert (reading.boxed, reading.ADI) == (True, 0.01)
    unboxed = run.readings[("T2", 4.0), "T1_all", ROLLOUT]
    assert (unboxed.boxed, unboxed.AS) == (False, -unboxed.entropy)


def test_maps_are_found_by_moment_split_and_place(tmp_path):
    write_attention(tmp_path / "runs/sgd-seed1", "sgd", 1)
    run = read_attention(tmp_path, RUNS[:1])[0]["sgd", 1]
    corner = weight("sgd", "T2", 8.0, "T2_shortcut_normal", 1)
    at = (("T2", 8.0), "T2_shortcut_normal")
    np.testing.assert_allclose(run.mean_map(*at, ROLLOUT), corner_map(corner), rtol=1e-6)
    np.testing.assert_allclose(run.mean_map(*at, ("1", "2")), corner_map(2 * corner), rtol=1e-6)
    mean = (corner_map(2 * corner) + corner_map(4 * corner)) / 2
    np.testing.assert_allclose(run.mean_map(*at, ("2", "mean")), mean, rtol=1e-6)
    assert run.mean_map(*at, ("3", "1")) is None
    assert run.mean_map(*at, ("1", "3")) is None
    assert run.mean_map(("T2", 2.0), at[1], ROLLOUT) is None


def test_heads_and_layers_are_ordered_as_numbers(tmp_path):
    lines = [
        f"T2,1,T2_shortcut_normal,5,{layer},{head},0.1,1,2.0,0.3\n" for layer in (10, 2) for head in (11, "mean", 9)
    ]
    (tmp_path / "attention.csv").write_text(HEAD + "".join(lines) + "T2,1,T2_shortcut_normal,5,rollout,,0.1,1,2.0,\n")
    readings = read_readings(tmp_path / "attention.csv")
    assert readings[("T2", 1.0), "T2_shortcut_normal", ROLLOUT].ADI is None
    run_folder = tmp_path / "runs/sgd-seed1"
    run_folder.mkdir(parents=True)
    (tmp_path / "attention.csv").rename(run_folder / "attention.csv")
    places = read_attention(tmp_path, RUNS[:1])[0]["sgd", 1].places
    assert places == [ROLLOUT, ("2", "9"), ("2", "11"), ("2", "mean"), ("10", "9"), ("10", "11"), ("10", "mean")]


def test_nothing_is_said_where_nobody_asked(tmp_path):
    (tmp_path / "runs/sgd-seed1").mkdir(parents=True)
    assert read_attention(tmp_path, RUNS) == ({}, [])


GOOD = "T2,1,T2_shortcut_normal,5,1,1,0.1,1,2.0,0.3\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "is missing"),
        ("", "cannot be read (No columns to parse from file)"),
        (HEAD, "has no rows"),
        (HEAD.replace("boxed,", ""), "has no column 'boxed'"),
        (HEAD + GOOD.replace("0.1", "much"), "has values other than numbers in column 'AS'"),
        (HEAD + GOOD.replace("0.1", "inf"), "has values other than numbers in column 'AS'"),
        (HEAD + GOOD.replace("T2,1,", "T2,,"), "has values other than numbers in column 'epoch'"),
        (HEAD + GOOD.replace(",1,2.0", ",2,2.0"), "has values other than 0 and 1 in column 'boxed'"),
        (HEAD + GOOD.replace("5,1,1,", "5,0,1,"), "names layer '0' and head '1' in line 2"),
        (HEAD + GOOD + GOOD.replace("5,1,1,", "5,rollout,1,"), "names layer 'rollout' and head '1' in line 3"),
        (HEAD + GOOD + GOOD, "has a duplicate: line 3 repeats T2 1 T2_shortcut_normal 1 1"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_an_odd_table_is_a_warning_that_names_it(tmp_path, content, words):
    for _, seed in RUNS:
        write_attention(tmp_path / f"runs/sgd-seed{seed}", "sgd", seed, splits=("T2_shortcut_normal",))
    table = tmp_path / "runs/sgd-seed2/attention.csv"
    if content is None:
        table.unlink()
    else:
        table.write_bytes(content if isinstance(content, bytes) else content.encode())
    found, (problem,) = read_attention(tmp_path, RUNS)
    assert list(found) == [("sgd", 1)]
    assert problem.startswith(f"runs/sgd-seed2/attention.csv {words}")
    assert problem.endswith("; attention leaves sgd seed 2 out")
    assert "\n" not in problem


class Trap:
    """Unpickling this would end the test with an error of its own."""

    def __reduce__(self):
        return (pytest.fail, ("something was unpickled",))


def archive(**arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def changed(**arrays):
    """What a run leaves, with other arrays in it."""
    return archive(**(attention_files("sgd", 1, ("T2_shortcut_normal",))[1] | arrays))


KEY = "T2/8/T2_shortcut_normal"
MAPS = np.full((8, 8), 1 / 64, dtype=np.float32)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "is missing"),
        (b"no archive", "is not a complete .npz file of plain arrays"),
        (changed()[:-40], "is not a complete .npz file of plain arrays"),
        (
            changed(**{f"mean_rollout/{KEY}": np.array([Trap()], dtype=object)}),
            "is not the plain array that it claims to be",
        ),
        (
            changed(**{f"mean_rollout/{KEY}": MAPS[0]}),
            f"has 'mean_rollout/{KEY}' as float32 [8], not as attention maps",
        ),
        (
            changed(**{f"mean_rollout/{KEY}": MAPS - 0.1}),
            f"has 'mean_rollout/{KEY}' as float32 [8, 8], not as attention maps",
        ),
        (
            changed(**{f"mean_rollout/{KEY}": MAPS * np.nan}),
            f"has 'mean_rollout/{KEY}' as float32 [8, 8], not as attention maps",
        ),
        (
            changed(**{f"mean_rollout/{KEY}": MAPS * 0}),
            f"has 'mean_rollout/{KEY}' as float32 [8, 8], not as attention maps",
        ),
        (changed(**{f"mean_rollout/{KEY}": MAPS[:4]}), "has maps of different grid sizes"),
        (
            changed(example_regions=np.ones((4, 32, 32))),
            "has 'example_regions' as float64 [4, 32, 32], not as bool [N, H, W]",
        ),
        (changed(example_regions=np.ones((3, 32, 32), bool)), "images and regions differ in number or size"),
        (
            changed(**{"example_images/T2_shortcut_normal": np.zeros((4, 32, 32, 3))}),
            "has 'example_images/T2_shortcut_normal' as float64 [4, 32, 32, 3], not as uint8 [N, H, W, 3]",
        ),
        (changed(**{f"example_rollout/{KEY}": np.stack([MAPS] * 3)}), "images and maps differ in number"),
    ],
)
def test_odd_maps_leave_the_table_in_use(tmp_path, content, words):
    run = tmp_path / "runs/sgd-seed1"
    write_attention(run, "sgd", 1, splits=("T2_shortcut_normal",))
    if content is None:
        (run / "attention.npz").unlink()
    else:
        (run / "attention.npz").write_bytes(content)
    found, (problem,) = read_attention(tmp_path, RUNS[:1])
    assert found["sgd", 1].readings
    assert found["sgd", 1].arrays == {}
    assert problem.startswith("runs/sgd-seed1/attention.npz ")
    assert words in problem
    assert problem.endswith("; maps and CTAS leave sgd seed 1 out")
    assert "pickle" not in problem


def test_unknown_arrays_do_no_harm(tmp_path):
    (tmp_path / "attention.npz").write_bytes(changed(something_new=np.arange(3)))
    assert "something_new" in read_maps(tmp_path / "attention.npz")
    with pytest.raises(InputError, match="is missing"):
        read_maps(tmp_path / "elsewhere.npz")
