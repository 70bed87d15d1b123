"""``import``: what is understood is printed, and the timeline that is written scores like the logs."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from einstellung.cli.main import cli
from tests.timeline.importing.logs import assert_read, read, tidy, wide


def run(*words: object):
    return CliRunner().invoke(cli, ["import", *map(str, words)])


def test_what_was_understood_is_printed_and_written(tmp_path):
    log, out = tmp_path / "wide.csv", tmp_path / "timeline.csv"
    wide().assign(lr=0.1).to_csv(log, index=False)
    done = run(log, "--wide", "--out", out)
    assert done.exit_code == 0, done.output
    for line in (
        f"{log}: CSV, wide layout, 24 rows",
        "  columns used: method, seed, phase, epoch, T2_shortcut_masked/acc, T2_shortcut_normal/acc",
        "  columns ignored: lr",
        "methods: scratch_t2, sgd",
        "seeds: 1, 2",
        "epochs: 0 to 2",
        "loss: missing in all rows; checks that compare losses are skipped",
        f"written: {out}",
    ):
        assert line in done.output.splitlines()
    assert_read(read(out))


def test_a_dry_run_writes_nothing(tmp_path):
    log = tmp_path / "log.csv"
    tidy().rename(columns={"acc": "accuracy"}).to_csv(log, index=False)
    done = run(log, "--map", "accuracy=acc", "--dry-run")
    assert done.exit_code == 0
    assert done.output.splitlines()[-1] == "nothing written (--dry-run)"
    assert [file.name for file in tmp_path.iterdir()] == ["log.csv"]


def test_json(tmp_path):
    log = tmp_path / "log.jsonl"
    tidy().to_json(log, orient="records", lines=True)
    facts = json.loads(run(log, "--dry-run", "--json").stdout)
    assert facts["sources"][0]["format"] == "JSON lines"
    assert (facts["rows"], facts["methods"], facts["without_n"], facts["out"]) == (24, ["scratch_t2", "sgd"], 24, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give --out FILE to write the timeline, or --dry-run"),
        (("--out", "t.txt"), "name a .csv or .parquet file"),
        (("--dry-run", "--map", "accuracy"), "--map accuracy: write THEIRS=OURS"),
        (("--dry-run", "--map", "a=b"), "map a=b: unknown column 'b'"),
        (("--dry-run", "--wide", "--run", "{name}"), "write {method} and {seed} where run names have them"),
    ],
)
def test_mistakes(tmp_path, words, message):
    log = tmp_path / "log.csv"
    tidy().to_csv(log, index=False)
    done = run(log, *words)
    assert done.exit_code != 0
    assert message in str(done.exception) + done.output
