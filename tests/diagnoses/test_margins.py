"""Other margins on the page: scored by Python at every stop, the study's own among them."""

from __future__ import annotations

from einstellung.diagnoses.confounding.diagnosis import Confounding
from einstellung.diagnoses.confounding.settings import ConfoundingSettings
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.margins import score_command
from einstellung.diagnoses.shortcuts.diagnosis import Shortcuts
from einstellung.diagnoses.shortcuts.page import settings_of
from einstellung.diagnoses.shortcuts.settings import ShortcutsSettings
from einstellung.results.config import build_config

from .confounding.confounded import study as tasks
from .confounding.confounded import three_tasks
from .shortcuts.timelines import PAPERLIKE
from .shortcuts.timelines import study as shortcuts


def test_every_stop_says_what_a_score_with_its_margin_says():
    evidence = Evidence(tasks(three_tasks(), spread=0.01))
    card = Confounding().score(evidence, ConfoundingSettings(margin=0.13))
    data = Confounding().page_data(evidence, card)["margin"]
    assert data["own"] == 0.13
    assert 0.13 in [stop["margin"] for stop in data["stops"]]
    names = set()
    for stop in data["stops"]:
        again = Confounding().score(evidence, ConfoundingSettings(margin=stop["margin"]))
        assert stop["answer"] == Confounding().answer(again)
        assert {method: row[0] for method, row in stop["rows"].items()} == {
            method: record.verdict.name for method, record in again.methods.items()
        }
        assert stop["columns"]["gap"] == 100 * stop["margin"]
        names |= {tuple(row[0] for row in stop["rows"].values())}
    assert len(names) > 1  # a margin decides something


def test_measuring_once_gives_what_scoring_each_margin_gives():
    evidence = Evidence(shortcuts(PAPERLIKE, spread=0.004, twins=True))
    card = Shortcuts().score(evidence, ShortcutsSettings(correlations=".95,.95"))
    assert settings_of(card).margin == card.margin
    data = Shortcuts().page_data(evidence, card)["margin"]
    for stop in data["stops"]:
        settings = ShortcutsSettings(correlations=".95,.95", margin=stop["margin"])
        again = Shortcuts().score(evidence, settings)
        assert {method: row[3] for method, row in stop["rows"].items()} == {
            method: record.verdict.sentence for method, record in again.methods.items()
        }


def test_the_command_holds_every_setting_that_is_not_the_default():
    settings = ShortcutsSettings(level=0.6, cues="a,b c", correlations=".95,.5/.5,.95", margin=0.1)
    command = score_command(Evidence(shortcuts(PAPERLIKE), source="logs/"), settings, "margin")
    assert (
        command == "einstellung score logs/ --level 0.6 --cues 'a,b c' --correlations 0.95,0.5/0.5,0.95 --margin VALUE"
    )


def test_a_study_is_changed_where_it_is_configured():
    config = build_config({"stream": {"name": "shapes"}})
    command = score_command(Evidence(shortcuts(PAPERLIKE), config=config), ShortcutsSettings(), "margin")
    assert command == "in config.yaml, score: {margin: VALUE}; then einstellung report FOLDER"
