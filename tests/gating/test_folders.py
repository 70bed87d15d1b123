"""Two results folders: methods, seeds, splits and the checkpoint that a study scores."""

from __future__ import annotations

import pytest

from einstellung.errors import InputError
from einstellung.gating import gate
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder

SHARES = {
    "T1_all": 0.5,
    "T2_shortcut_normal": 0.9,
    "T2_shortcut_masked": 0.7,
    "T2_shortcut_clean": 0.8,
    "T2_nonshortcut_normal": 0.6,
}
COUNT = 20


def write_predictions(folder, method, seed, file="predictions.csv", **changes):
    """The first images of every split are classified correctly, by exactly the given shares."""
    lines = ["split,index,label,prediction"]
    for split, share in {**SHARES, **changes}.items():
        first = 1000 if split == "T2_nonshortcut_normal" else 0
        for place in range(COUNT):
            lines.append(f"{split},{first + place},{place % 2},{place % 2 if place < share * COUNT else 7}")
    path = folder / "runs" / f"{method}-seed{seed}" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def study(path, methods=("scratch_t2", "sgd"), seeds=(1, 2), **score):
    config = build_config({"methods": list(methods), "seeds": list(seeds), "score": score}, "test")
    ResultsFolder(path).write_config(config)
    for method in methods:
        for seed in seeds:
            write_predictions(path, method, seed)
    return path


def test_splits_become_conditions_and_seeds_are_paired(tmp_path):
    before, after = study(tmp_path / "old"), study(tmp_path / "new")
    write_predictions(after, "sgd", 1, T2_shortcut_masked=0.4)
    found = gate(before, after)
    assert found.delta_before == pytest.approx(0.2)
    assert [row.rise for row in found.seeds] == [pytest.approx(0.3), pytest.approx(0.0)]
    assert found.rise == pytest.approx(0.15)
    assert found.accuracy["clean"].before == pytest.approx(0.7)  # both the unpainted images and the other classes
    assert found.flips["deployed"].n == 2 * COUNT
    assert found.sources == {"before": f"{before} (sgd)", "after": f"{after} (sgd)"}


def test_the_last_epoch_where_the_study_scores_it(tmp_path):
    before, after = study(tmp_path / "old", final="last"), study(tmp_path / "new", final="last")
    for seed in (1, 2):
        write_predictions(after, "sgd", seed, "predictions_last.csv", T2_shortcut_masked=0.2)
    assert gate(before, after).delta_after == pytest.approx(0.7)


def test_two_methods_of_one_study_beside_its_baseline(tmp_path):
    folder = study(tmp_path / "one", ("scratch_t2", "sgd", "derpp"))
    for seed in (1, 2):
        write_predictions(folder, "derpp", seed, T2_shortcut_masked=0.5)
        write_predictions(folder, "scratch_t2", seed, T2_shortcut_masked=0.8)
    found = gate(folder, folder, folder, method=["sgd", "derpp"], seeds=[2])
    assert found.rise == pytest.approx(0.2)
    assert found.seeds == ()
    assert found.baseline.delta_baseline == pytest.approx(0.1)
    assert found.baseline.sfr_rel_after == pytest.approx(0.3)


def test_runs_that_are_missing_are_left_out_and_named(tmp_path):
    before, after = study(tmp_path / "old"), study(tmp_path / "new", seeds=(2, 3))
    found = gate(before, after)
    assert found.warnings[0] == "Seeds that not every model has are left out: 1, 3."
    assert found.seeds == ()  # one pair is left


def test_single_runs_are_paired_whatever_their_seeds(tmp_path):
    found = gate(study(tmp_path / "old", seeds=(1,)), study(tmp_path / "new", seeds=(5,)))
    assert (found.rise, found.seeds) == (0, ())


def test_nothing_in_the_folders_changes(tmp_path):
    folder = study(tmp_path / "old")
    held = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    gate(folder, folder)
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == held


def test_bad_folders(tmp_path):
    good = study(tmp_path / "good", ("scratch_t2", "sgd", "derpp"))
    (tmp_path / "empty").mkdir()
    bare = tmp_path / "bare"
    ResultsFolder(bare).write_config(build_config({"methods": ["sgd"], "seeds": [1]}, "test"))
    strange = study(tmp_path / "strange", ("sgd",), (1,))
    file = strange / "runs" / "sgd-seed1" / "predictions.csv"
    file.write_text("split,index,label,prediction\nT2_val,1,1,1\n")
    for before, options, words in (
        (tmp_path / "empty", {}, "is not a results folder"),
        (tmp_path, {}, "holds several studies: give one of them, e.g."),
        (good, {}, "holds several methods (scratch_t2, sgd, derpp): choose one with --method"),
        (good, {"method": "sgdd"}, "has no method 'sgdd': did you mean 'sgd'?"),
        (good, {"method": "sgd", "seeds": [9]}, "--seed names 9"),
        (bare, {"method": "sgd"}, "holds no predictions.csv of 'sgd'"),
        (strange, {"method": "sgd"}, "has none of the splits"),
    ):
        with pytest.raises(InputError) as refused:
            gate(before, good, **options)
        assert words in str(refused.value)
    file.write_text("split,index,label\nT2_val,1,1\n")
    with pytest.raises(InputError, match=r"predictions\.csv has no column 'prediction'"):
        gate(strange, good, method="sgd")


def test_method_and_seed_are_for_folders(tmp_path):
    (tmp_path / "a.csv").write_text("id,label,prediction,condition\n")
    for options, words in (({"method": "sgd"}, "--method is for"), ({"seeds": [1]}, "--seed is for")):
        with pytest.raises(InputError, match=words):
            gate(tmp_path / "a.csv", tmp_path / "a.csv", **options)
