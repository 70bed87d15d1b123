"""What the page of several shortcuts says: what is decided, what common means, which epoch counts, what the paper did."""

from __future__ import annotations

import json

import pytest

from einstellung.cli import main
from einstellung.experiments.assembly import resolve
from einstellung.files import write_json
from einstellung.metrics.shortcuts import shortcut_score
from einstellung.metrics.shortcuts_settings import DEFAULT_TAU, ShortcutSettings
from einstellung.report import write_shortcut_report
from einstellung.report.figures import shortcuts as catalogue
from einstellung.report.published_shortcuts import protocol_differences, reported_for, with_reported
from einstellung.report.shortcuts import shortcut_card
from einstellung.report.shortcuts_answer import shortcut_answer
from einstellung.report.shortcuts_tables import shortcut_tables
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder
from tests.metrics.several import PAPERLIKE, groups, rows_of, study, timeline_of, two_cues
from tests.metrics.test_shortcuts_turned import LEANS, TURNED
from tests.metrics.test_shortcuts_verdict import EVEN, HALF, LEANING, two_phases

from .test_page import Reader
from .test_shortcuts import CUES, MOVED, PROOF, SWITCH, TWINS, table_of

BOTH = {"cues": CUES, "correlations": (0.95, 0.95)}


@pytest.fixture
def quick(monkeypatch):
    """Figures are not what is looked at here."""
    monkeypatch.setattr(catalogue, "_plans", lambda *inputs: {})


@pytest.fixture
def said(monkeypatch, capsys):
    """The command line in this process: its exit code and what it printed."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["einstellung", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr()

    return run


def test_the_lead_counts_only_methods_that_are_decided():
    one = rows_of("sd", 1, "T1", groups(two_cues(1.0, 0.9, 0.9, 0.5)))
    rows = list(study(PAPERLIKE, spread=0.004).frame.itertuples(index=False, name=None))
    lead = shortcut_answer(shortcut_score(timeline_of(rows + one), **BOTH))[0]
    assert lead.startswith("Whac-A-Mole in 1 of the 2 methods (of 3 beside erm) that the data decide about: cutmix (")
    assert "Of sd the data do not decide." in lead
    still = {name: PAPERLIKE[name] for name in ("erm", "lle")}
    lead = shortcut_answer(shortcut_score(study(still, spread=0.004), **BOTH))[0]
    assert lead.startswith("No Whac-A-Mole is shown: of the one method beside erm, none reduces")


def test_a_method_with_an_undecided_cue_is_not_counted_as_free_of_whac_a_mole():
    card = shortcut_score(study({"erm": {"T1": LEANING}, "sd": {"T1": EVEN}}), **HALF)
    assert card["methods"]["sd"]["verdict"]["name"] == "reduces some"
    assert shortcut_answer(card)[0].startswith("Nothing is decided about Whac-A-Mole: of no method beside erm")


def test_one_seed_decides_nothing_and_the_lead_says_so():
    lead = shortcut_answer(shortcut_score(study(PAPERLIKE, seeds=(1,)), **BOTH))[0]
    assert lead.startswith("With one seed nothing can be decided")


def test_carry_over_stands_beside_what_the_baseline_and_a_fresh_net_have():
    ends = {**MOVED, "er": {"T1": MOVED["erm"]["T1"], "T2": two_cues(0.95, 0.7, 0.7, 0.5)}}
    ends["erm"] = {"T1": MOVED["erm"]["T1"], "T2": two_cues(0.95, 0.65, 0.94, 0.5)}
    card = shortcut_score(study(ends, spread=0.002), cues=CUES, correlations=SWITCH)
    (words,) = [paragraph for paragraph in shortcut_answer(card) if paragraph.startswith("Carry-over")]
    assert words == (
        "Carry-over: the background gap of T1 is still there after T2 in er (-25.0), beside -1.0 in erm and 0.0 in scratch "
        "(points from where all cues are common)."
    )
    tables = shortcut_tables(with_reported(card))
    carried = {row["method"]: row["carried_over"] for row in tables["carry_over"].values if row["weights"] == "common"}
    assert carried == {"erm": False, "scratch": False, "er+lle": False, "er": True}


def test_a_trade_against_the_baseline_is_of_the_cues_alone(quick, tmp_path):
    timeline = study({"erm": {"T1": EVEN}, "sd": {"T1": LEANING}})
    card = shortcut_score(timeline, **HALF)
    (beside,) = card["methods"]["sd"]["trade"]["against_baseline"]
    assert beside["own"]["co-object -> background"]["mean"] == pytest.approx(0.15)  # as ID accuracy moved
    write_shortcut_report(tmp_path, timeline, card)
    (row,) = [row for row in table_of(tmp_path, "trade") if row["pair"] == "co-object -> background"]
    assert float(row["T"]) == pytest.approx(0)
    assert row["trade"] == "False"
    assert " trade |" not in (tmp_path / "tables" / "trade.md").read_text(encoding="utf-8")


def test_the_page_says_what_common_means_in_a_turned_phase(quick, tmp_path):
    ends = {**LEANS, "lle": LEANS["erm"]}
    timeline = study(ends, extra=TWINS)
    card = shortcut_score(timeline, cues=CUES, correlations=TURNED)
    words = Reader(write_shortcut_report(tmp_path, timeline, card).read_text(encoding="utf-8")).text
    for expected in (
        "background 0.05 (common value: against the label)",
        "In T2 the common values of background and co-object go against the label: uncommon is what goes with the label.",
        "all common in the phase",
        "common means here, in every phase: with the label",
    ):
        assert expected in words
    assert {row["weights"] for row in table_of(tmp_path, "phases")} == {"own", "fixed", "common", "alone"}
    plain = shortcut_score(study(MOVED), cues=CUES, correlations=SWITCH)
    assert {row["weights"] for row in shortcut_tables(with_reported(plain))["phases"].values} == {
        "own",
        "fixed",
        "common",
    }


def test_the_glossary_knows_the_words_that_tables_use(quick, tmp_path):
    timeline = study(PAPERLIKE)
    page = write_shortcut_report(tmp_path, timeline, shortcut_score(timeline, **BOTH)).read_text(encoding="utf-8")
    for term in ("cue", "turned", "pattern", "group", "twin", "effective epoch", "common, uncommon", "carry-over"):
        assert f"<dt>{term}</dt>" in page
    words = Reader(page).text
    assert "10: background with the label, co-object against it" in words
    assert "ID accuracy of 75" in words


def test_the_page_says_which_epochs_of_which_phases_count(quick, tmp_path):
    timeline = timeline_of(two_phases({"T1": [0.8, 0.3], "T2": [0.2, 0.7, 0.4]}))
    card = shortcut_score(timeline, ShortcutSettings(final="worst-group"), **BOTH)
    words = Reader(write_shortcut_report(tmp_path, timeline, card).read_text(encoding="utf-8")).text
    assert "T1: the last epoch, which the next phase begins with; T2: the epoch with the highest worst-group" in words


def told_study(folder, final: str):
    results = ResultsFolder(folder)
    learners = {"gdro~background": {"cues": ["background"]}, "gdro": {"cues": None}}
    results.write_config(
        build_config({"methods": ["erm", "gdro", "gdro~background"], "learners": learners, "score": {"final": final}})
    )
    write_json(results.proof_file, PROOF)
    rows = [
        (method, *row[1:])
        for method in ("erm", "gdro", "gdro~background")
        for row in two_phases({"T1": [0.2, 0.7, 0.4]})
    ]
    return with_note(shortcut_card(results, timeline_of(rows)))


def with_note(card) -> tuple[dict, str]:
    return card, shortcut_tables(card)["table3"].note


def test_selection_by_groups_that_a_method_is_not_told_of_is_said(tmp_path):
    card, note = told_study(tmp_path / "selected", "worst-group")
    assert card["told_some"] == {"gdro~background": ["background"]}
    assert "is chosen by the worst of all groups, that of gdro~background too" in note
    assert "flatters" not in told_study(tmp_path / "last", "last")[1]


def test_a_study_and_a_score_of_its_timeline_have_the_same_threshold(tmp_path, said):
    config = resolve(build_config({"stream": "composites", "methods": ["erm", "lle"], "training": {"epochs": [1]}}))
    assert config.score.tau == DEFAULT_TAU
    results = ResultsFolder(tmp_path / "study")
    results.write_config(config)
    write_json(results.proof_file, PROOF)
    timeline = study({name: PAPERLIKE[name] for name in ("erm", "lle")})
    reported = shortcut_card(results, timeline)
    code, printed = said("score", timeline.write(tmp_path / "timeline.csv"), "--correlations", ".95,.95", "--json")
    scored = json.loads(printed.out)
    assert code == 0
    assert (reported["tau"], reported["margin"], reported["level"]) == (
        scored["tau"],
        scored["margin"],
        scored["level"],
    )
    chosen = {"tau": 0.7, "level": 0.6}
    asked = resolve(build_config({"stream": "composites", "training": {"epochs": [1]}, "score": chosen}))
    assert (asked.score.settings().tau, asked.score.settings().level) == (0.7, 0.6)


def test_the_level_and_the_names_of_cues_on_the_command_line(tmp_path, said):
    log = study(PAPERLIKE, spread=0.004).write(tmp_path / "timeline.csv")
    code, printed = said("score", log, "--correlations", ".95,.95", "--level", ".98", "--json")
    verdicts = {name: record["verdict"]["name"] for name, record in json.loads(printed.out)["methods"].items()}
    assert (code, verdicts["cutmix"], verdicts["lle"]) == (0, "not learned", "not learned")  # ID 97.3 % and 96.8 %
    other = timeline_of(rows_of("sgd", 1, "T2", {"T2_shortcut_normal": 0.5})).write(tmp_path / "other.csv")
    for words, complaint in (
        ((log, "--level", "1.5"), "level is 1.5"),
        ((log, "--cues", "sky+sea,thing"), "'sky+sea' cannot name a cue"),
        ((other, "--level", ".8"), "--level is for timelines of confounded tasks or several shortcuts"),
    ):
        code, printed = said("score", *words)
        assert code == 2
        assert complaint in printed.err
    code, printed = said("score", "--help")
    assert "of the gaps of several shortcuts" in " ".join(printed.out.split())


CARD = {"correlations": {"T1": [0.95, 0.95]}, "phases": ["T1"], "final": "worst-group", "images": {"group": 125}}


@pytest.mark.parametrize(
    ("configuration", "differences"),
    [
        (
            {"backbone": {"name": "resnet50", "weights": None}},
            ["random weights at the start (paper: weights of ImageNet)"],
        ),
        (
            {"backbone": {"name": "resnet50", "weights": "/a/b/net.safetensors"}},
            ["weights of net.safetensors at the start (paper: weights of ImageNet)"],
        ),
        (
            {"stream": {"size": 256, "input_modality": "features", "extractor": "efficientnet-lite0"}},
            ["the net sees frozen features of efficientnet-lite0 (paper: it sees pixels and is trained whole)"],
        ),
        ({"training": {"schedule": "cosine"}}, ["the learning rate falls along a cosine (paper: a constant one)"]),
        (
            {"training": {"schedule": "steps", "milestones": [[200, 250]], "epochs": [300], "decay": 0.1}},
            ["the learning rate falls after epoch 200 and 250 (paper: a constant one)"],
        ),
        ({"training": {"schedule": "steps", "milestones": [400], "epochs": [300]}}, []),
        (None, ["how these models were trained is not known"]),
    ],
)
def test_differences_of_protocol(configuration, differences):
    assert protocol_differences(CARD, configuration) == differences


def test_without_a_configuration_the_card_tells_what_it_knows_and_jtt_has_no_row():
    card = with_reported(shortcut_score(study({**PAPERLIKE, "jtt": PAPERLIKE["lle"]}), **BOTH))
    assert "50 test images a group (paper: 125)" in card["reported"]["differences"]
    assert sorted(card["reported"]["methods"]) == ["cutmix", "erm", "lle"]
    assert reported_for("jtt", {"learners": {"jtt": {"identify_epochs": 1}}})["ID"] == 0.959
    assert reported_for("eiil", {"learners": {"eiil": {}}}) is None
