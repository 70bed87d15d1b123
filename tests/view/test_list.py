"""The list of studies: what is found, in which state, and what a damaged folder does to the others."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from einstellung.files import write_json, write_text
from einstellung.hashes import read_sealed
from einstellung.results.folder import ResultsFolder
from einstellung.results.live_files import SILENT_SECONDS
from einstellung.timeline import Timeline
from einstellung.view import study as study_module
from einstellung.view.api import Api
from einstellung.view.verdict import Provisional

from .studies import configure, everything_in, write_run, write_study


def rows_of(client) -> dict[str, dict]:
    """The list once every verdict in it was made."""
    for _ in range(200):
        rows = client.json("api/studies")["studies"]
        if not any(row.get("pending") for row in rows):
            return {row["label"]: row for row in rows}
        time.sleep(0.02)
    raise AssertionError("verdicts stay pending")


def test_studies_below_folders_with_verdict_state_and_age(tmp_path, serve):
    root = tmp_path / "results"
    write_study(root / "deep" / "er" / "done", name="finished one")
    write_json(root / "deep/er/done/provenance.json", {"finished": "2020-01-01T00:00:00+00:00"})
    half = write_study(root / "half", scored=False)
    for name in ("status.json", "timeline.csv"):
        (half / "runs" / "sgd-seed3" / name).unlink()
    failed = write_study(root / "failed", seeds=(1,), scored=False)
    write_json(failed / "runs/sgd-seed1/status.json", {"state": "failed", "reason": "diverged", "traceback": ""})
    write_text(root / "another program" / "config.yaml", "port: 80")
    rows = rows_of(serve(root))
    assert set(rows) == {"results/deep/er/done", "results/half", "results/failed"}
    done = rows["results/deep/er/done"]
    assert (done["name"], done["state"], done["provisional"]) == ("finished one", "finished", False)
    assert done["age"] == pytest.approx(time.time() - 1577836800, abs=60)
    assert "sgd" in done["verdict"]
    assert (rows["results/half"]["state"], rows["results/half"]["finished_runs"]) == ("incomplete", "5 of 6 runs")
    assert rows["results/half"]["provisional"] is True
    assert (rows["results/failed"]["state"], rows["results/failed"]["failed_runs"]) == ("failed", 1)


def test_a_study_can_be_the_given_folder_and_a_sweep_has_a_page(tmp_path, serve):
    write_study(tmp_path / "sweep" / "cue.size=2", seeds=(1,))
    write_text(tmp_path / "sweep" / "sweep.yaml", "key: cue.size\nvalues: [2]\n")
    write_text(tmp_path / "sweep" / "sweep.html", "<a href='cue.size=2/report.html'>2</a>")
    client = serve(tmp_path / "sweep" / "cue.size=2", tmp_path / "sweep")
    rows = client.json("api/studies")["studies"]
    assert [(row["key"], row["kind"]) for row in rows] == [("0", "study"), ("1", "sweep"), ("1/cue.size%3D2", "study")]
    for row in rows:
        assert client.get(row["page"])[0].status == 200
    # what the sweep's page links to
    assert client.get("page/1/cue.size=2/report.html")[0].status == 200


DAMAGE = {
    "config.yaml": (b"\xff\xfe garbage", "config.yaml"),
    "config.yaml ": (b"a: [", "config.yaml"),
    "config.yaml  ": (b"- 1\n- 2\n", "is not a configuration"),
    "config.yaml   ": (b"methods: 7\nformat: 2\n", "methods"),
    "config.yaml    ": (b"methods: [sgd]\nshown: 1\n", "older version"),
    "config.yaml     ": (b"[" * 1500, "nests more than 40 levels"),
    "config.yaml      ": (None, "config.yaml is missing"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_folder_is_one_line_with_the_reason(tmp_path, serve, name):
    content, reason = DAMAGE[name]
    write_study(tmp_path / "a good", seeds=(1,))
    broken = write_study(tmp_path / "broken", seeds=(1,), scored=False)
    (broken / name.strip()).unlink()
    (broken / "study.json").unlink()  # which holds the configuration again
    if content is not None:
        (broken / name.strip()).write_bytes(content)
    rows = rows_of(serve(tmp_path))
    good, bad = rows[f"{tmp_path.name}/a good"], rows[f"{tmp_path.name}/broken"]
    assert good["state"] == "finished"
    assert bad["kind"] == "damaged"
    assert reason in bad["why"]
    assert "\n" not in bad["why"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"kind": "rigidity"}', b'{"kind": 5}', b'{"kind": "no such"}', b"[" * 100_000, b"\xff"],
)
def test_a_damaged_score_leaves_what_the_timelines_say(tmp_path, serve, content):
    (write_study(tmp_path / "one", seeds=(1, 2)) / "score.json").write_bytes(content)
    (row,) = rows_of(serve(tmp_path)).values()
    assert (row["state"], row["provisional"]) == ("finished", True)
    assert "sgd" in row["verdict"]


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{}", b"[]", b'{"jobs": [1]}', b'{"jobs": [], "share": "x"}'),
        *(b'{"jobs": [], "share": NaN}', b'{"jobs": [], "share": 1, "seconds_left": Infinity}'),
        b'{"jobs": [], "share": 1' + b"0" * 400 + b"}",
    ],
)
def test_a_strange_progress_file_is_no_progress(tmp_path, serve, content):
    (write_study(tmp_path / "one", seeds=(1,)) / "progress.json").write_bytes(content)
    (row,) = rows_of(serve(tmp_path)).values()
    assert row["state"] == "finished"


def test_one_damaged_run_is_named_and_the_others_count(tmp_path, serve):
    study = write_study(tmp_path / "one", scored=False)
    (study / "runs/sgd-seed2/timeline.csv").write_text("method,seed\nsgd,2\n")
    (study / "runs/sgd-seed3/status.json").write_text("{")
    client = serve(tmp_path)
    verdict = client.json("api/verdict?study=0/one")
    assert any("sgd-seed2" in problem for problem in verdict["problems"])
    runs = {(run["method"], run["seed"]): run for run in client.json("api/study?study=0/one")["runs"]}
    assert runs["sgd", 3]["state"] == "unreadable"
    assert "not valid JSON" in runs["sgd", 3]["reason"]
    assert verdict["verdicts"][0]["table"]["rows"]


def test_hostile_names_are_text_and_work_as_keys(tmp_path, serve):
    name = "<script>alert(1)<\u202e&\"'#?%2f..;"
    write_study(tmp_path / name, seeds=(1,), name="plain")
    os.mkdir(os.fsencode(tmp_path) + b"/\xff\xfe")
    write_study(tmp_path / os.fsdecode(b"\xff\xfe"), seeds=(1,))
    client = serve(tmp_path)
    rows = client.json("api/studies")["studies"]
    shown = name.replace("\u202e", "[U+202E]")  # which would turn the reading direction of the page
    assert {row["label"].split("/", 1)[1] for row in rows} == {shown, "\\udcff\\udcfe"}
    for row in rows:
        assert not set(row["key"]) & set("<>\"'&#?; ,")
        assert client.get(row["page"])[0].status == 200
        assert client.json(f"api/study?study={row['key'].replace('%', '%25')}")["state"] == "finished"


def test_a_verdict_that_lacks_finished_runs_is_not_shown_as_the_study_s(tmp_path, serve):
    study = write_study(tmp_path / "one", seeds=(1, 2))
    client = serve(tmp_path)
    assert client.json("api/verdict?study=0/one")["verdicts"][0]["stored"] is True
    configure(study, (1, 2, 3))
    write_run(study, "sgd", 3)
    write_run(study, "scratch_t2", 3)
    verdict = client.json("api/verdict?study=0/one")
    assert "2 runs that finished later" in verdict["problems"][0]
    assert verdict["verdicts"][0]["stored"] is False
    assert verdict["verdicts"][0]["fewest_seeds"] == 3


def test_logs_that_were_scored_without_a_study_are_listed(tmp_path, serve):
    study = write_study(tmp_path / "report", seeds=(1,))
    for name in ("config.yaml", "study.json"):
        (study / name).unlink()
    (row,) = rows_of(serve(tmp_path)).values()
    assert (row["state"], row["name"]) == ("scored", None)
    assert "sgd" in row["verdict"]


def test_reading_writes_nothing_and_takes_no_lock(tmp_path, serve):
    root = tmp_path / "results"
    write_study(root / "one")
    write_study(root / "two", scored=False)
    write_run(root / "two", "sgd", 3, epochs=4)
    before = everything_in(tmp_path)
    client = serve(root)
    for path in ("api/studies", "", "page/0/one/report.html"):
        client.get(path)
    for what in ("study", "verdict", "curves"):
        client.json(f"api/{what}?study=0/one")
        client.json(f"api/{what}?study=0/two")
    client.json("api/compare?study=0/one&study=0/two")
    rows_of(client)
    assert everything_in(tmp_path) == before
    with ResultsFolder(root / "one").in_use():  # a viewer neither needs the lock nor holds it
        assert client.json("api/study?study=0/one")["state"] == "finished"


def test_a_study_whose_process_is_gone_has_stopped(tmp_path, serve):
    study = write_study(tmp_path / "one", seeds=(1,), scored=False)
    write_json(study / "progress.json", {"jobs": [], "share": 0.5, "seconds_left": 3})
    client = serve(tmp_path)
    assert client.json("api/study?study=0/one")["state"] == "running"
    past = time.time() - SILENT_SECONDS - 5
    os.utime(study / "progress.json", (past, past))
    told = client.json("api/study?study=0/one")
    assert told["state"] == "stopped"
    assert told["silent"] == pytest.approx(SILENT_SECONDS + 5, abs=5)


def test_what_did_not_change_is_not_read_again(tmp_path, monkeypatch):
    """So a study of a thousand runs costs as many looks at files, and no reading, from the second request on."""
    study = write_study(tmp_path / "one", scored=False)
    api = Api([tmp_path])
    read = []
    read_many = Timeline.read_many.__func__
    monkeypatch.setattr(
        Timeline, "read_many", classmethod(lambda cls, paths: (read.extend(paths), read_many(cls, paths))[1])
    )
    monkeypatch.setattr(study_module, "read_sealed", lambda path: (read.append(path), read_sealed(path))[1])

    def ask():
        read.clear()
        for answer in (api.study("0/one"), api.verdict("0/one"), api.curves("0/one", None, [])):
            assert answer["version"]
        return sorted(Path(path).name for path in read)

    assert ask().count("timeline.csv") == 6
    assert ask() == []
    write_run(study, "sgd", 3, epochs=5)  # replaced: all finished runs are read again
    assert ask().count("timeline.csv") == 6
    configure(study, (1, 2, 3, 4))
    write_run(study, "sgd", 4)  # one more run: it alone is read
    assert ask() == ["status.json", "timeline.csv"]


def test_a_verdict_that_cannot_be_made_is_not_pending_for_ever(tmp_path, serve, monkeypatch):
    write_study(tmp_path / "one", seeds=(1,), scored=False)
    monkeypatch.setattr(Provisional, "judge", lambda *_: 1 / 0)
    (row,) = rows_of(serve(tmp_path)).values()
    assert (row["state"], row["verdict"]) == ("finished", None)
    assert row["why"] == "its files cannot be judged (ZeroDivisionError)"


@pytest.mark.parametrize("stamp", ["yesterday", None, 5, "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+23:59"])
def test_a_strange_time_is_no_reason_to_hide_a_study(tmp_path, serve, stamp):
    study = write_study(tmp_path / "one", seeds=(1,))
    write_json(study / "provenance.json", {"finished": stamp})
    (row,) = rows_of(serve(tmp_path)).values()
    assert row["age"] >= 0
