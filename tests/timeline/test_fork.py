"""The public fork's files, in the shapes people have them."""

from __future__ import annotations

import pytest

from einstellung.errors import InputError
from einstellung.timeline import ImportOptions, Timeline

OLD = "method,seed,epoch_eff,split,acc"


def write(folder, lines, name="timeline_a.csv", header=OLD):
    path = folder / name
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def rows(method="SGD", seed=42, epochs=(0, 1), split="T1_all", start=0.1):
    return [f"{method},{seed},{epoch},{split},{start + i / 100:.2f}" for i, epoch in enumerate(epochs)]


def phases(timeline, method="sgd", seed=42, split="T1_all"):
    return {phase: timeline.curve(method, seed, phase, split)[0].tolist() for phase in timeline.phases(method, seed)}


def test_phase_one_then_phase_two_and_epochs_count_from_one(tmp_path):
    timeline = Timeline.read(write(tmp_path, rows(epochs=(0, 1, 2, 0, 1, 2))))
    assert phases(timeline) == {"T1": [1, 2, 3], "T2": [1, 2, 3]}
    assert timeline.curve("sgd", 42, "T2", "T1_all")[1].tolist() == [0.13, 0.14, 0.15]


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [
        ((0, 1, 2), {"T2": [1, 2, 3]}),  # one pass: trained on phase 2 only
        ((0, 1, 2, 0, 1), {"T1": [1, 2, 3], "T2": [1, 2]}),
        ((0, 1, 0, 1, 2, 3), {"T1": [1, 2], "T2": [1, 2, 3, 4]}),
        ((0, 0, 1, 2), {"T1": [1], "T2": [1, 2, 3]}),
        ((0, 0, 1, 1, 2, 2), {"T1": [1, 2, 3], "T2": [1, 2, 3]}),  # sorted by epoch
        ((2, 2, 1, 1, 0, 0), {"T1": [1, 2, 3], "T2": [1, 2, 3]}),
        ((0, 0), {"T1": [1], "T2": [1]}),
        ((2, 1, 0), {"T2": [1, 2, 3]}),
        ((0, 1, 10, 11, 2, 3), {"T2": [1, 2, 3, 4, 11, 12]}),  # sorted as text
        ((0, 1, 10, 2, 0, 1, 10, 2), {"T1": [1, 2, 3, 11], "T2": [1, 2, 3, 11]}),
        ((0, 0, 1, 1, 10, 10, 2, 2), {"T1": [1, 2, 3, 11], "T2": [1, 2, 3, 11]}),
        ((1, 0, 2), {"T2": [1, 2, 3]}),
    ],
)
def test_the_phase_follows_from_the_order_of_rows(tmp_path, epochs, expected):
    assert phases(Timeline.read(write(tmp_path, rows(epochs=epochs)))) == expected


def test_sorted_by_epoch_the_second_of_two_is_phase_two(tmp_path):
    timeline = Timeline.read(write(tmp_path, rows(epochs=(0, 0, 1, 1))))
    assert timeline.curve("sgd", 42, "T1", "T1_all")[1].tolist() == [0.10, 0.12]
    assert timeline.curve("sgd", 42, "T2", "T1_all")[1].tolist() == [0.11, 0.13]


def test_splits_and_runs_are_separated_even_when_interleaved(tmp_path):
    lines = []
    for epoch in (0, 1, 0, 1):
        for split in ("T2_shortcut_normal", "T2_nonshortcut_normal"):
            lines += [f"sgd,{seed},{epoch},{split},0.{seed}{epoch}" for seed in (1, 2)]
        lines.append(f"sgd,1,{epoch},T2_shortcut_masked,0.5")
    lines += rows("Scratch_T2", 1, (0, 1), "T2_shortcut_normal")
    timeline = Timeline.read(write(tmp_path, lines))
    for seed in (1, 2):
        for split in ("T2_shortcut_normal", "T2_nonshortcut_normal"):
            assert phases(timeline, seed=seed, split=split) == {"T1": [1, 2], "T2": [1, 2]}
    assert phases(timeline, "scratch_t2", 1, "T2_shortcut_normal") == {"T2": [1, 2]}


def test_names_of_any_case_become_one(tmp_path):
    first = write(tmp_path, rows("Scratch_T2"), "timeline_1.csv")
    second = write(tmp_path, rows("SCRATCH_T2", seed=43), "timeline_2.csv")
    timeline = Timeline.read_many([first, second])
    assert timeline.methods == ("scratch_t2",)
    assert timeline.seeds("scratch_t2") == (42, 43)


def test_within_one_file_the_case_of_a_name_does_not_split_its_phases(tmp_path):
    timeline = Timeline.read(write(tmp_path, rows("SGD", start=0.1) + rows("sgd", start=0.5)))
    assert phases(timeline) == {"T1": [1, 2], "T2": [1, 2]}
    assert timeline.curve("sgd", 42, "T2", "T1_all")[1].tolist() == [0.50, 0.51]


def test_spaces_around_a_split_do_not_split_its_phases(tmp_path):
    timeline = Timeline.read(write(tmp_path, rows(split="T1_all ") + rows()))
    assert phases(timeline) == {"T1": [1, 2], "T2": [1, 2]}


def test_two_files_with_one_name_in_two_cases_are_both_named(tmp_path):
    paths = [write(tmp_path, rows(method), f"timeline_{method}.csv") for method in ("SGD", "sgd")]
    with pytest.raises(InputError, match=r"timeline_sgd\.csv, line 2: the same .* as .*timeline_SGD\.csv, line 2"):
        Timeline.read_many(paths)


def test_the_same_run_in_two_files_is_not_taken_for_two_phases(tmp_path):
    paths = [write(tmp_path, rows(), name) for name in ("timeline_1.csv", "timeline_2.csv")]
    with pytest.raises(InputError, match=r"timeline_2\.csv, line 2: the same .* as .*timeline_1\.csv, line 2"):
        Timeline.read_many(paths)


def test_newer_files_bring_top5_and_loss(tmp_path):
    header = "method,seed,epoch_eff,split,acc,top5,loss"
    timeline = Timeline.read(write(tmp_path, ["sgd,1,0,T1_all,0.5,0.9,1.25"], header=header))
    assert timeline.frame[["top5", "loss"]].values.tolist() == [[0.9, 1.25]]
    assert timeline.frame["n"].isna().all()


def test_three_rows_for_one_epoch_name_every_line(tmp_path):
    path = write(tmp_path, rows(epochs=(0, 1, 0, 1, 0)))
    with pytest.raises(InputError) as caught:
        Timeline.read(path)
    assert str(caught.value) == (f"more than two rows for one split and epoch_eff 0: {path}, line 2; line 4; line 6")


@pytest.mark.parametrize(
    ("epochs", "again", "first", "once"),
    [
        ((0, 0, 1, 1, 2), (0, 3), 2, (2, 6)),
        ((0, 1, 2, 2, 3, 4), (2, 5), 4, (0, 2)),  # resumed half-way
        ((0, 1, 2, 3, 2, 3, 4), (2, 6), 4, (0, 2)),
        ((2, 3, 0, 1, 2), (2, 6), 2, (3, 3)),  # a first pass without its beginning
        ((0, 1, 0, 2, 1, 3), (0, 4), 2, (2, 5)),
    ],
)
def test_an_ambiguous_phase_is_refused(tmp_path, epochs, again, first, once):
    path = write(tmp_path, rows(epochs=epochs))
    with pytest.raises(InputError) as caught:
        Timeline.read(path)
    assert str(caught.value).startswith(
        f"{path}, line {again[1]}: epoch_eff {again[0]} appears again (first: line {first}) while "
        f"epoch_eff {once[0]} of the same curve appears once (line {once[1]})"
    )


def test_one_unclear_curve_among_clear_ones_is_found(tmp_path):
    clear = rows("a", epochs=(0, 1, 0, 1, 2)) + rows("b", epochs=(0, 2, 1))
    path = write(tmp_path, clear + rows("c", epochs=(0, 1, 1)) + rows("d", epochs=(0, 0)))
    with pytest.raises(InputError, match="line 12: epoch_eff 1 appears again"):
        Timeline.read(path)


@pytest.mark.parametrize(("epoch", "words"), [("0.5", "0.5 is not a whole number"), ("-1", "-1 is below 0")])
def test_a_wrong_epoch_is_named_in_the_file_s_own_column(tmp_path, epoch, words):
    with pytest.raises(InputError, match=f"line 2, column 'epoch_eff': {words}"):
        Timeline.read(write(tmp_path, [f"sgd,1,{epoch},T1_all,0.5"]))


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(InputError, match=r"timeline_a\.csv: column 'acc' is missing"):
        Timeline.read(write(tmp_path, ["sgd,1,0,T1_all"], header="method,seed,epoch_eff,split"))


def test_columns_in_another_case_are_still_asked_for_as_the_fork_s(tmp_path):
    header = "Method,Seed,Epoch_Eff,split,acc"
    with pytest.raises(InputError) as caught:
        Timeline.read(write(tmp_path, ["sgd,1,0,T1_all,0.5"], header=header))
    assert str(caught.value).endswith(
        "columns 'method', 'seed' and 'epoch_eff' are missing (columns found: Method, Seed, Epoch_Eff, split, acc); "
        "did you mean --map Method=method --map Seed=seed --map Epoch_Eff=epoch_eff?"
    )
    renamed = ImportOptions(columns={"Method": "method", "Seed": "seed", "Epoch_Eff": "epoch_eff"})
    assert Timeline.read(tmp_path / "timeline_a.csv", renamed).runs == (("sgd", 1),)


def test_a_wrong_accuracy_is_named(tmp_path):
    with pytest.raises(InputError, match="line 3, column 'acc': 7 is outside"):
        Timeline.read(write(tmp_path, ["sgd,1,0,T1_all,0.5", "sgd,1,1,T1_all,7"]))
