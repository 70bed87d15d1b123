"""Tables in every format and form become the same timeline."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma

import pandas as pd
import pytest

from einstellung.errors import InputError
from einstellung.timeline import ImportOptions, Timeline
from einstellung.timeline.importing.options import parse_assignments, read_mapping

from .logs import SPLITS, assert_read, ordered, read, tidy, wide


@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "log.json", "log.jsonl", "log.ndjson", "log.parquet"])
def test_formats(tmp_path, name):
    path, frame = tmp_path / name, tidy()
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif path.suffix in (".jsonl", ".ndjson"):
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".json":
        frame.to_json(path, orient="records")
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    assert_read(read(path))


@pytest.mark.parametrize("orient", ["records", "columns", "split", "list"])
def test_forms_of_json(tmp_path, orient):
    path = tmp_path / "log.json"
    text = json.dumps(tidy().to_dict("list")) if orient == "list" else tidy().to_json(orient=orient)
    path.write_text(text)
    assert_read(read(path))


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)])
def test_packed(tmp_path, suffix, pack):
    path = tmp_path / f"log.csv{suffix}"
    content = pack(tidy().to_csv(index=False).encode())
    path.write_bytes(content)
    assert_read(read(path))
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=f"^{path} is a broken"):
        read(path)


def test_a_folder_of_tables_with_timeline_in_their_names(tmp_path):
    frame = tidy()
    (tmp_path / "second").mkdir()
    frame[frame["seed"] == 1].to_csv(tmp_path / "my_timeline_1.csv", index=False)
    frame[frame["seed"] == 2].to_csv(tmp_path / "second/exp-timeline.csv.gz", index=False)
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    assert_read(read(tmp_path))


@pytest.mark.parametrize(
    "metric", ["{split}/acc", "{split}/accuracy", "{split}_acc", "acc/{split}", "{split}.top1", "T2/{split}/acc"]
)
def test_wide_tables_by_their_usual_names(tmp_path, metric):
    path = tmp_path / "wide.csv"
    table = wide(metric)
    if metric.startswith("T2/"):
        table = table.drop(columns="phase")
    table.to_csv(path, index=False)
    assert_read(read(path, wide=True))


def test_a_pattern_of_ones_own(tmp_path):
    path = tmp_path / "wide.csv"
    wide("test.{split} [top-1]").to_csv(path, index=False)
    assert_read(read(path, columns={"test.{split} [top-1]": "acc"}))
    with pytest.raises(InputError, match="no column is recognised as the accuracy of a split"):
        read(path, columns={"best.{split}": "acc"})


def test_one_column_at_a_time(tmp_path):
    path = tmp_path / "wide.csv"
    wide("{split}").rename(columns={SPLITS[0]: "val a", SPLITS[1]: "val b"}).to_csv(path, index=False)
    assert_read(read(path, columns={"val a": f"{SPLITS[0]}/acc", "val b": f"{SPLITS[1]}/acc"}))
    assert set(read(path, columns={"val a": f"{SPLITS[0]}/acc"})["split"]) == {SPLITS[0]}


def test_what_the_log_does_not_say_is_given(tmp_path):
    path, table = tmp_path / "one.csv", wide()
    one = table[(table["method"] == "sgd") & (table["seed"] == 2)]
    one.drop(columns=["method", "seed", "phase"]).rename(columns={"epoch": "step"}).to_csv(path, index=False)
    told = {"method": "sgd", "seed": 2, "phase": "T2"}
    frame = read(path, wide=True, **told, steps_per_epoch=1)
    expected = ordered(tidy()).query("method == 'sgd' and seed == 2")
    assert frame["acc"].tolist() == expected["acc"].tolist()
    assert read(path, wide=True, **told, steps_per_epoch=2)["epoch"].max() == 1
    for missing, message in [
        ("method", "the method is unknown"),
        ("seed", "the seed is unknown"),
        ("phase", "the phase is unknown; give --phase T2"),
    ]:
        with pytest.raises(InputError, match=message):
            read(path, wide=True, **{key: value for key, value in told.items() if key != missing}, steps_per_epoch=1)
    with pytest.raises(InputError, match="there are steps \\('step'\\) but no epochs"):
        read(path, wide=True, **told)


def test_a_column_is_not_overruled(tmp_path):
    path = tmp_path / "log.csv"
    tidy().to_csv(path, index=False)
    with pytest.raises(InputError, match=r"has a column 'phase' already: leave out --phase"):
        read(path, phase="T1")


def test_two_values_of_one_moment_are_refused(tmp_path):
    path, table = tmp_path / "wide.csv", wide()
    again = table.iloc[[3]].assign(**{f"{SPLITS[0]}/acc": 0.987})
    pd.concat([table, again]).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"wide.csv, line 14: a second value of acc .* \(first: line 5\)"):
        read(path, wide=True)
    pd.concat([table, table.iloc[[3]]]).to_csv(path, index=False)
    assert_read(read(path, wide=True))  # the same value twice is no contradiction


def test_charts_of_wandb(tmp_path):
    """The export of a chart: a column for each run, and its least and largest values."""
    path, columns = tmp_path / "chart.csv", {"Step": [0, 1, 2]}
    for (method, seed), rows in wide().groupby(["method", "seed"]):
        for split in SPLITS:
            values = rows[f"{split}/acc"].tolist()
            name = f"{method}-seed{seed} - {split}/acc"
            columns |= {name: values, f"{name}__MIN": [0] * 3, f"{name}__MAX": [1] * 3}
    pd.DataFrame(columns).to_csv(path, index=False)
    assert_read(read(path, wide=True, phase="T2", steps_per_epoch=1))


@pytest.mark.parametrize(
    ("renamed", "message"),
    [
        ({"acc": "accuracy"}, "column 'acc' is missing .* did you mean 'accuracy' for 'acc'\\? Use --map accuracy=acc"),
        ({"method": "model"}, "did you mean 'model' for 'method'\\? Use --map model=method"),
        ({"seed": "Seed", "epoch": "epochs"}, "columns 'seed' and 'epoch' are missing .* --map Seed=seed --map epochs=epoch"),
        ({"split": "x y", "acc": "z"}, "columns 'split' and 'acc' are missing .*one column a metric\\? Use --wide"),
    ],
)  # fmt: skip
def test_nearly_right_columns_are_suggested(tmp_path, renamed, message):
    path = tmp_path / "log.csv"
    tidy().rename(columns=renamed).to_csv(path, index=False)
    with pytest.raises(InputError, match=message):
        read(path)
    if "z" not in renamed.values():
        assert_read(read(path, columns={theirs: ours for ours, theirs in renamed.items()}))


def test_many_files_are_not_all_listed_in_a_message(tmp_path):
    for number in range(30):
        wide("{split}").to_csv(tmp_path / f"timeline_{number}.csv", index=False)
    with pytest.raises(InputError) as caught:
        read(tmp_path, wide=True)
    assert "timeline_0.csv and 29 more: no column is recognised" in str(caught.value)  # a long path is shortened
    assert str(caught.value).count("timeline_") == 1


def test_a_mapping_file(tmp_path):
    path, mapping = tmp_path / "wide.csv", tmp_path / "map.yaml"
    wide("{split}@1").drop(columns="phase").to_csv(path, index=False)
    mapping.write_text('map:\n  "{split}@1": acc\nphase: 1\n')
    options = read_mapping(mapping, ImportOptions())
    assert set(Timeline.read(path, options).frame["phase"]) == {"T1"}
    assert_read(ordered(Timeline.read(path, read_mapping(mapping, ImportOptions(phase="T2"))).frame))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "write keys such as 'map'"),
        ("maps: {a: acc}", "unknown key 'maps': did you mean 'map'"),
        ("wide: 1", "wide is '1'"),
        ("map: {a: accc}", "map a=accc: unknown column 'accc': did you mean 'acc'"),
        ("map: [", "not valid YAML"),
    ],
)
def test_wrong_mapping_files(tmp_path, content, message):
    mapping = tmp_path / "map.yaml"
    mapping.write_text(content)
    with pytest.raises(InputError, match=message):
        read_mapping(mapping, ImportOptions())


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("accuracy", "write THEIRS=OURS"),
        ("accuracy=", "write THEIRS=OURS"),
        ("{splt}/acc=acc", "unknown placeholder '{splt}': did you mean 'split'"),
        ("{seed}/acc=acc", "the split is unknown; write {split} in the pattern"),
        ("a=b/c/d/acc", "write a column, SPLIT/acc or PHASE/SPLIT/acc"),
    ],
)
def test_wrong_mappings(item, message):
    with pytest.raises(InputError, match=message):
        ImportOptions(columns=parse_assignments([item]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"acc": 1}', "'acc' is not a column"),
        ('[{"acc": 1}, 2]', "record 2: is not an object"),
        ('[{"acc": [1]}]', "record 1, column 'acc': holds a list, not a value"),
        ('{"acc": [1], "seed": [1, 2]}', "columns have 1 to 2 values"),
        ('[{"acc": 1, "acc": 2}]', "the key 'acc' appears twice"),
        ("[]", "holds no records"),
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
    ],
)
def test_json_that_is_no_table(tmp_path, text, message):
    path = tmp_path / "log.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read(path)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("einstellung.timeline.importing.content.MOST_BYTES", 2**20)
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"a" * 2**22))
    with pytest.raises(InputError, match="unpacks to more than 1 MiB"):
        read(path)
