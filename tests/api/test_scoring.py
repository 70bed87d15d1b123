"""``score`` and ``load``: the same numbers as the command line, from every kind of source."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import einstellung as e
from einstellung.api.results import Result, Results
from einstellung.cli.main import cli
from einstellung.diagnoses.contract import Members
from einstellung.errors import InputError
from einstellung.files import write_json
from einstellung.hashes import unsealed
from einstellung.report.family import FamilyPage
from einstellung.report.tables import Cell, Table
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline


@pytest.fixture(scope="module")
def result(log) -> Result:
    return e.score(log)


def test_same_as_the_command(tmp_path, log):
    log.to_csv(tmp_path / "timeline.csv", index=False)
    printed = CliRunner().invoke(cli, ["score", str(tmp_path), "--json", "--tau", "0.5", "--classes", "10"])
    expected = json.loads(printed.stdout)
    for source in (tmp_path, str(tmp_path / "timeline.csv"), [tmp_path / "timeline.csv"], log):
        assert json.loads(json.dumps(e.score(source, tau=0.5, classes=10).to_json())) == expected


def test_several_paths_are_one_log(tmp_path, log):
    for seed, rows in log.groupby("seed"):
        rows.to_csv(tmp_path / f"timeline_{seed}.csv", index=False)
    paths = sorted(tmp_path.glob("*.csv"))
    assert e.score(paths).to_json() == e.score(log).to_json()
    assert set(e.score(paths[:2], seeds=[1]).timeline["seed"]) == {1}


def test_the_frame_is_not_changed(log):
    before = log.copy(deep=True)
    e.score(log).timeline["acc"] = 0
    pd.testing.assert_frame_equal(log, before)


def test_methods_and_seeds(log):
    some = e.score(log, methods=["scratch_t2", "slow"], seeds=[1, 2])
    assert list(some.card.methods) == ["scratch_t2", "slow"]
    assert some.card.methods["slow"].n_seeds == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": ["slwo"]}, "did you mean 'slow'"),
        ({"methods": []}, "methods is \\[\\]: give names"),
        ({"seeds": ["1"]}, "seeds is \\['1'\\]: give whole numbers"),
        ({"taau": 0.5}, "taau is not a setting of the diagnosis 'rigidity': did you mean 'tau'"),
        ({"tau": 2}, "^tau is 2"),
        ({"diagnosis": "rigdity"}, "did you mean 'rigidity'"),
    ],
)
def test_wrong_settings(log, settings, message):
    with pytest.raises(InputError, match=message):
        e.score(log, **settings)


@pytest.mark.parametrize(("source", "message"), [("nowhere", "nowhere does not exist"), (3, "a int cannot be scored")])
def test_wrong_sources(source, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        e.score(source)


def test_verdicts_and_answer(result):
    assert result.verdicts["habit"].pattern == "red-flag"
    assert result.verdicts["habit"].certainty == "holds"
    assert "relies more on the cue" in result.verdicts["habit"].sentences[0]
    assert next(iter(result.verdicts)) == "scratch_t2"
    assert result.verdicts["scratch_t2"].pattern == "baseline"
    assert result.answer == result.sentences[0]
    assert "habit" in result.answer


def test_tables(result, log):
    summary = result.table().set_index("method")
    last = log[log["epoch"] == 15].pivot_table(index=["method", "seed"], columns="split", values="acc", observed=True)
    lost = (last["T2_shortcut_normal"] - last["T2_shortcut_masked"]).groupby("method").mean()
    assert summary.loc["habit", "delta"] == pytest.approx(lost["habit"], abs=0.02)
    assert summary.loc["habit", "delta_low"] < summary.loc["habit", "delta"] < summary.loc["habit", "delta_high"]
    assert summary.loc["slow", "seeds"] == 6
    assert result.tables[0] == "summary"
    for name in result.tables:
        assert len(result.table(name)), name
    with pytest.raises(InputError, match="there is no table 'facet': did you mean 'facets'"):
        result.table("facet")


def test_figures(result):
    assert result.plot().get_axes()
    assert "accuracy" in result.figures
    assert result.plot("fig3_accuracy").get_size_inches().tolist() == result.plot("accuracy").get_size_inches().tolist()
    with pytest.raises(InputError, match="there is no figure 'acuracy': did you mean 'accuracy'"):
        result.plot("acuracy")
    with pytest.raises(InputError, match="the figure 'samples' cannot be drawn"):
        result.plot("samples")


def test_the_caller_s_matplotlib_stays(result):
    import matplotlib

    before = dict(matplotlib.rcParams)
    result.plot()
    assert dict(matplotlib.rcParams) == before


def test_save_one_file(result, tmp_path):
    page = result.save(tmp_path / "new" / "report.html")
    assert page == tmp_path / "new" / "report.html"
    assert [one.name for one in page.parent.iterdir()] == ["report.html"]
    text = page.read_text(encoding="utf-8")
    assert "habit" in text
    assert 'src="figures' not in text
    assert 'href="tables' not in text


def test_save_folder_and_json(result, tmp_path):
    page = result.save(tmp_path / "report")
    assert page == tmp_path / "report" / "report.html"
    assert (tmp_path / "report" / "score.json").exists()
    assert unsealed(json.loads(result.save(tmp_path / "one.json").read_text())) == json.loads(
        json.dumps(result.to_json())
    )


def test_save_refuses(result, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file; give a folder"):
        result.save(tmp_path / "file")
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "config.yaml").touch()
    with pytest.raises(InputError, match="results folder of a study"):
        result.save(tmp_path / "study")
    (tmp_path / "x.html").mkdir()
    with pytest.raises(InputError, match=r"x\.html is a folder"):
        result.save(tmp_path / "x.html")


def test_shows_itself(result):
    assert repr(result).startswith("<Result 'a DataFrame' (rigidity): 3 methods, 18 runs. ")
    html, markdown = result._repr_html_(), result._repr_markdown_()
    assert len(html) < 20_000
    assert ">red-flag</span>" in html
    assert "| habit |" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len({line.count(" | ") for line in rows if "---" not in line}) == 1
    assert len(rows) == 2 + 3


def test_names_are_escaped(log):
    bad = "<script>alert(1)</script>"
    shown = e.score(log.replace({"method": {"slow": bad}}))
    assert "<script" not in shown._repr_html_()
    assert "&lt;script" in shown._repr_html_()
    assert "<script" not in shown._repr_markdown_()


def test_load_a_report(log, tmp_path):
    written = e.score(log, tau=0.5)
    written.save(tmp_path / "report")
    for path in (tmp_path / "report", tmp_path / "report" / "score.json"):
        read = e.load(path)
        assert isinstance(read, Result)
        assert read.to_json() == written.to_json()
        assert read.answer == written.answer
        assert read.table().equals(written.table())
        with pytest.raises(InputError, match="a card without measurements, which a figure needs"):
            read.plot()


def test_load_logs_and_files(log, tmp_path):
    log.to_csv(tmp_path / "timeline.csv", index=False)
    assert e.load(tmp_path).to_json() == e.load(tmp_path / "timeline.csv").to_json() == e.score(log).to_json()


def write_study(folder: Path, log: pd.DataFrame) -> Path:
    """A results folder of finished runs."""
    methods = tuple(dict.fromkeys(log["method"]))
    ResultsFolder(folder).write_config(
        StudyConfig(name="mine", methods=methods, seeds=tuple(range(6)), diagnosis="rigidity")
    )
    for (method, seed), rows in log.groupby(["method", "seed"]):
        run = folder / "runs" / f"{method}-seed{seed}"
        run.mkdir(parents=True)
        rows.to_csv(run / "timeline.csv", index=False)
        write_json(run / "status.json", {"state": "finished"})
    return folder


def test_load_a_study_writes_nothing(tmp_path, log):
    (tmp_path / "study").mkdir()
    folder = write_study(tmp_path / "study", log)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    read = e.load(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert isinstance(read, Result)
    assert read.config is not None
    assert read.name == read.config.name
    with pytest.raises(InputError, match=r"holds studies \(1\): load one, such as '.*study'"):
        e.load(tmp_path)


def test_load_nothing(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        e.load(tmp_path / "no")
    with pytest.raises(InputError, match="holds no timeline"):
        e.load(tmp_path)


def test_results_are_a_mapping(log):
    one = e.score(log)
    table = Table("t", "", ("study",), ((Cell("<a>"),),), ({"study": "a"},))
    page = FamilyPage("sweep", "Title", "", ["All agree."], {"x": 1}, {"main": table}, printed="main")
    several = Results("mine", {"first": one, "second": one}, page)
    assert list(several) == ["first", "second"]
    assert several["first"] is one
    assert several.answer == "All agree."
    assert several.table()["study"].tolist() == ["a"]
    assert repr(several) == "<Results 'mine': first, second. All agree.>"
    assert "&lt;a&gt;" in several._repr_html_()
    with pytest.raises(KeyError, match="did you mean 'first'"):
        several["frist"]


def sweep_of(one: Result) -> Results:
    """Two studies with a figure over both; its page is the diagnosis' own."""
    members = Members({"first": one.card, "second": one.card}, (), ("cue.size",), {"first": (2,), "second": (4,)})
    page = one.kind.family(members)
    assert page is not None
    return Results("mine", {"first": one, "second": one}, page)


def test_results_have_verdicts_and_figures(log):
    several = sweep_of(e.score(log))
    assert several.verdicts["second"]["habit"].pattern == "red-flag"
    assert several.figures
    assert several.plot().axes
    assert several.plot(several.figures[0]).axes
    with pytest.raises(InputError, match=r"'accuracy' is a figure of a single study: \['first'\].plot\('accuracy'\)"):
        several.plot("accuracy")
    with pytest.raises(InputError, match="there is no figure 'nothing'"):
        several.plot("nothing")


def test_results_are_saved_with_a_report_of_each_study(tmp_path, log):
    several = sweep_of(e.score(log))
    page = several.save(tmp_path / "out")
    for link in re.findall(r'href="([^"#]+report[.]html)"', page.read_text()):
        assert (page.parent / link).is_file()
    assert {"first/report.html", "second/report.html"} <= set(re.findall(r'href="([^"#]+)"', page.read_text()))
    assert unsealed(json.loads(several.save(tmp_path / "all.json").read_text())) == json.loads(
        json.dumps(several.to_json())
    )
    with pytest.raises(InputError, match="give a folder, or save one study"):
        several.save(tmp_path / "out.html")
    (tmp_path / "study").mkdir()
    (tmp_path / "study/sweep.yaml").write_text("")
    with pytest.raises(InputError, match="is the results folder of a study"):
        several.save(tmp_path / "study")


def test_compare(log):
    old, new = e.score(log), e.score(log[log["seed"] != 5].assign(acc=log["acc"] * 0.9))
    found = e.compare(old=old, new=new)
    table = found.table("delta").set_index(["method", "result"])
    assert found.labels == ("old", "new")
    # worked by hand: every delta is 0.9 of the old one, on the common seeds 0..4
    paired = old.card.methods["habit"].per_seed
    expected = sum(-0.1 * paired[seed].delta for seed in range(5)) / 5
    assert table.loc[("habit", "new"), "difference"] == pytest.approx(expected)
    assert pd.isna(table.loc[("habit", "old"), "difference"])
    assert "old vs new" in found._repr_html_()
    assert "| habit | new |" in found._repr_markdown_()
    with pytest.raises(InputError, match="did you mean 'delta'"):
        found.table("dleta")


def test_compare_needs_two(log):
    with pytest.raises(InputError, match="two results or more, not 1"):
        e.compare(e.score(log))


def test_logs_in_another_form(tmp_path, log):
    expected = e.score(log).to_json()
    renamed = log.rename(columns={"acc": "accuracy"})
    assert e.score(renamed, map={"accuracy": "acc"}).to_json() == expected
    (tmp_path / "map.yaml").write_text("map: {accuracy: acc}\n")
    renamed.to_csv(tmp_path / "log.csv.xz", index=False)
    assert e.score(tmp_path / "log.csv.xz", map=tmp_path / "map.yaml").to_json() == expected
    one = log[(log["phase"] == "T2") & (log["seed"] == 1)]
    wide = one.pivot(index=["method", "epoch"], columns="split", values="acc").add_suffix("/acc").reset_index()
    read = e.score(wide, wide=True, seed=1, phase="T2")
    assert read.timeline[["seed", "phase"]].drop_duplicates().values.tolist() == [[1, "T2"]]
    assert len(read.timeline) == len(one)


def test_a_frame_that_is_nearly_right_names_the_keyword(log):
    with pytest.raises(InputError, match=r"^the timeline: column 'acc' is missing .* Use map={'accuracy': 'acc'}$"):
        e.score(log.rename(columns={"acc": "accuracy"}))
    with pytest.raises(InputError, match=r"columns 'split' and 'acc' are missing .*Use wide=True$"):
        e.score(log.drop(columns=["split", "acc"]))


def test_a_timeline_shows_what_it_holds(log):
    shown = repr(Timeline(log))
    assert all(method in shown for method in set(log["method"]))
    assert f"{len(log)} rows" in shown
