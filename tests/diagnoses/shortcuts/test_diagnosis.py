"""From results folders and log files to cards and pages, whatever they hold."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from rich.console import Console

from einstellung.cli import main
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.registry import get_diagnosis, recognise
from einstellung.diagnoses.reporting import report_study, score_folder
from einstellung.diagnoses.settings import parse_settings
from einstellung.diagnoses.shortcuts.answer import make_answer
from einstellung.diagnoses.shortcuts.diagnosis import Shortcuts
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.settings import ShortcutsSettings
from einstellung.diagnoses.shortcuts.tables import make_tables
from einstellung.errors import InputError
from einstellung.report.terminal import print_overview
from tests.report.html_reader import HtmlReader

from .reports import CORRELATIONS, MOVED, TWINS, odd_timelines, table_of, write_page, write_study
from .timelines import CUES, PAPERLIKE, groups, predictions_of, rows_of, study, timeline_of, two_cues


@pytest.fixture
def said(monkeypatch, capsys):
    """The command line in this process: its exit code and what it printed."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["einstellung", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr()

    return run


def test_it_is_a_kind_like_the_others():
    assert isinstance(get_diagnosis("shortcuts"), Shortcuts)
    assert recognise(["T1_val", "group_0_11"]).name == "shortcuts"
    with pytest.raises(InputError, match=r"score.tau_grid is not a setting of the diagnosis 'shortcuts'"):
        parse_settings(ShortcutsSettings, {"tau_grid": [0.3, 0.4]}, "shortcuts")


def test_a_results_folder_takes_cues_and_correlations_from_its_proof(tmp_path, quick):
    timeline = study({name: PAPERLIKE[name] for name in ("erm", "lle")}, seeds=(1,))
    results = write_study(
        tmp_path / "study", timeline, name="whac", methods=["lle", "erm"], seeds=[1], score={"final": "last"}
    )
    reported = report_study(results)
    card = reported.scored.card
    assert card.cues == CUES
    assert card.correlations == {"T1": (0.95, 0.95)}
    assert list(card.methods) == ["lle", "erm"]  # as they were asked for
    assert card.reported.methods["lle"].ID == 0.967
    assert "Several shortcuts: whac" in reported.page.read_text(encoding="utf-8")


def test_what_the_settings_say_goes_before_what_the_proof_says():
    proof = {"facts": {"cues": list(CUES), "correlations": {"T1": [0.95, 0.95]}}}
    evidence = Evidence(study(PAPERLIKE), proof)
    card = Shortcuts().score(evidence, ShortcutsSettings(cues="sky,thing", correlations=".9,.8"))
    assert (card.cues, card.correlations) == (("sky", "thing"), {"T1": (0.9, 0.8)})


def test_runs_that_failed_are_among_the_warnings():
    evidence = Evidence(study(PAPERLIKE), failures=("lle seed 4 failed: out of memory",))
    assert Shortcuts().score(evidence, ShortcutsSettings()).warnings[0] == "lle seed 4 failed: out of memory"


def test_the_baseline_is_found_whatever_its_case():
    card = Shortcuts().score(Evidence(study(PAPERLIKE)), ShortcutsSettings(baseline="LLE"))
    assert card.baseline == "lle"


def test_score_of_log_files(tmp_path, quick, said):
    log = study(MOVED, extra=TWINS).write(tmp_path / "timeline.csv")
    code, printed = said("score", log, "--json")
    card = json.loads(printed.out)
    assert (code, card["kind"], card["tau"], card["cues"]) == (0, "shortcuts", 0.9, list(CUES))
    assert card["methods"]["erm"]["phases"]["T2"]["own"]["ID"]["mean"] is None
    assert any("--correlations .95,.95" in warning for warning in card["warnings"])
    code, printed = said("score", log, "--correlations", ".95,.5/.5,.95", "--cues", "sky, thing", "--json")
    card = json.loads(printed.out)
    assert card["correlations"] == {"T1": [0.95, 0.5], "T2": [0.5, 0.95]}
    assert card["cues"] == ["sky", "thing"]
    code, printed = said("score", log, "--correlations", ".95,.95", "--out", tmp_path / "out")
    assert "BG gap" in printed.out
    assert "Several shortcuts" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for words, complaint in (
        (("--correlations", ".9"), "1 correlations of T1 for 2 cues"),
        (("--correlations", ".9,.9/.5,.5/.5,.5"), "3 lists of correlations for the 2 phases"),
        (("--correlations", "a,b"), "--correlations is a,b: give the share of images"),
        (("--final", "worst-group"), "choose last"),
        (("--final", "best-val"), "--final is best-val: input should be 'auto', 'last' or 'worst-group'"),
        (("--tau-grid", ".5"), "--tau-grid is not a setting of the diagnosis 'shortcuts'"),
    ):
        code, printed = said("score", log, *words)
        assert code == 2
        assert complaint in printed.err
    other = timeline_of(rows_of("sgd", 1, "T2", {"T2_shortcut_normal": 0.5})).write(tmp_path / "other.csv")
    code, printed = said("score", other, "--correlations", ".9,.9")
    assert code == 2
    assert "--correlations is not a setting of the diagnosis 'rigidity'" in printed.err


@settings(max_examples=25, deadline=None)
@given(odd_timelines(), CORRELATIONS)
def test_every_valid_timeline_has_a_card_and_lines(timeline, correlations):
    card = score_shortcuts(timeline, cues=CUES, correlations=correlations)
    assert json.loads(json.dumps(card.to_json(), allow_nan=False)) == card.to_json()
    console = Console(file=io.StringIO(), width=100)
    print_overview(console, Shortcuts().overview(card), card.checks, card.warnings)
    assert "verdict" in console.file.getvalue()
    assert make_answer(card)
    assert make_tables(card)["table3"].rows


@settings(max_examples=4, deadline=None)
@given(odd_timelines(), CORRELATIONS)
def test_every_valid_timeline_has_a_page(tmp_path_factory, timeline, correlations):
    def look(figure, folder, name):
        figure.draw_without_rendering()
        return {"svg": b"<svg/>"}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("einstellung.report.figures.plan.save", look)
        _, page = write_page(tmp_path_factory.getbasetemp() / "odd", timeline, correlations)
    assert page


@pytest.mark.parametrize("stored", ["predictions_last.csv", "predictions.csv", None])
def test_a_results_folder_takes_intervals_over_images_from_predictions(tmp_path, quick, stored):
    """Of the last epoch, since that is what is scored: those of the chosen checkpoint are of another one."""
    ends, n = {"erm": two_cues(1.0, 0.9, 0.7, 0.4), "lle": two_cues(1.0, 0.9, 0.9, 0.9)}, 50
    timeline = study({method: {"T1": patterns} for method, patterns in ends.items()}, seeds=(1, 2))
    results = write_study(tmp_path / "study", timeline, name="whac", seeds=[1, 2], score={"final": "last"})
    for method, patterns in ends.items():
        for seed in (1, 2):
            run = results.path / "runs" / f"{method}-seed{seed}"
            if stored is not None:
                predictions_of(groups(patterns), n).to_csv(run / stored, index=False)
                if stored == "predictions_last.csv":
                    predictions_of(groups(dict.fromkeys(patterns, 0.5)), n).to_csv(run / "predictions.csv", index=False)
    reported = report_study(results)
    card, page = reported.scored.card, reported.page
    words = " ".join(HtmlReader(page.read_text(encoding="utf-8")).text.split())
    rows = [row for row in table_of(results.path, "verdicts") if (row["method"], row["cue"]) == ("lle", "background")]
    if stored is None:
        assert card.image_resamples is None
        assert "runs/erm-seed1/predictions.csv is missing; no intervals over images are available" in card.warnings[0]
        assert "Per-image predictions are not available for all runs, so verdicts use seeds only." in words
        assert rows[0]["images_low95"] == ""
    else:
        assert card.image_resamples == 2000
        over = "over seeds and test images (resampled individually, because shared source objects were not recorded)"
        assert f"95 % interval of the difference {over}" in words
        # main effect of erm (.3 + .5) / 2, of lle .05
        assert float(rows[0]["images_low95"]) < -0.35 < float(rows[0]["images_high95"])
        assert float(rows[0]["both_low95"]) <= float(rows[0]["images_low95"])


def test_a_study_and_a_score_of_its_timeline_have_the_same_threshold(tmp_path, said):
    timeline = study({name: PAPERLIKE[name] for name in ("erm", "lle")})
    reported = score_folder(write_study(tmp_path / "study", timeline)).card
    code, printed = said("score", timeline.write(tmp_path / "timeline.csv"), "--correlations", ".95,.95", "--json")
    scored = json.loads(printed.out)
    assert code == 0
    assert reported.tau == ShortcutsSettings().tau
    assert (reported.tau, reported.margin, reported.level) == (scored["tau"], scored["margin"], scored["level"])
    chosen: dict[str, Any] = {"tau": 0.7, "level": 0.6}
    asked = score_folder(write_study(tmp_path / "chosen", timeline, score=chosen)).card
    assert (asked.tau, asked.level) == (0.7, 0.6)


def test_the_level_and_the_names_of_cues_on_the_command_line(tmp_path, said):
    log = study(PAPERLIKE, spread=0.004).write(tmp_path / "timeline.csv")
    code, printed = said("score", log, "--correlations", ".95,.95", "--level", ".98", "--json")
    verdicts = {name: record["verdict"]["name"] for name, record in json.loads(printed.out)["methods"].items()}
    assert (code, verdicts["cutmix"], verdicts["lle"]) == (0, "not learned", "not learned")  # ID 97.3 % and 96.8 %
    other = timeline_of(rows_of("sgd", 1, "T2", {"T2_shortcut_normal": 0.5})).write(tmp_path / "other.csv")
    for words, complaint in (
        ((log, "--level", "1.5"), "--level is 1.5: "),
        ((log, "--cues", "sky+sea,thing"), "'sky+sea' cannot be a cue name"),
        ((other, "--level", ".8"), "--level is not a setting of the diagnosis 'rigidity'"),
    ):
        code, printed = said("score", *words)
        assert code == 2
        assert complaint in printed.err
    code, printed = said("score", "--help")
    assert "How much the reliance on a cue must differ from the baseline's to count." in " ".join(printed.out.split())
