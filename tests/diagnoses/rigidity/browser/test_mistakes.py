"""A mistake in the settings is refused in the browser with the line that the command prints."""

from __future__ import annotations

from einstellung.diagnoses.contract import Evidence
from einstellung.timeline import Timeline
from tests.diagnoses.rigidity.hand_made import timeline_frame

from .node import ask, in_browser, in_python, needs_node, scored, study

MISTAKES: tuple[dict[str, str], ...] = (
    {"tau": "0"},
    {"tau": "-0.5"},
    {"tau": "1.5"},
    {"tau": "nan"},
    {"tau": "inf"},
    {"tau": "half"},
    {"window": "0"},
    {"window": "2.5"},
    {"window": "wide"},
    {"smoothing": "trailling"},
    {"final": "first"},
    {"final": "best-val"},
    {"margins": "-1,0.02,0.02"},
    {"margins": "1,nan,0.02"},
    {"margins": "1,0.02,much"},
    {"classes": "1"},
    {"classes": "many"},
    {"tau_grid": "0.3,1.2"},
    {"tau_grid": "0.3,x"},
    {"baseline": "scrach_t2"},
    {"baseline": "zzz"},
    {"baseline": ""},
    {"methods": "sgd,sdg"},
    {"methods": "zzz"},
    {"seeds": "42,7"},
    {"seeds": "4.2"},
    {"seeds": "first"},
    {"methods": "derpp", "baseline": "scratch_t2"},
    {"tuo": "0.5"},
    {"colour": "1"},
    {"tau": "2", "window": "0"},  # both, in the command's order
    {"classes": "1", "margins": "-1,-1,0.02", "tau": "2"},  # one for each setting
    {"window": "0", "colour": "1", "tuo": "0.5"},  # unknown settings first
    {"methods": "zzz", "tau": "2"},
)


@needs_node
def test_the_message_is_the_command_s(tmp_path):
    evidence = Evidence(Timeline(timeline_frame()))
    python = [in_python(evidence, settings) for settings in MISTAKES]
    (answer,) = ask(tmp_path, [study(evidence, scored(evidence, {}), [in_browser(one) for one in MISTAKES])])
    for settings, said, found in zip(MISTAKES, python, answer["scores"], strict=True):
        assert "error" in said, settings
        assert found == said, settings


@needs_node
def test_what_a_page_alone_can_get_wrong(tmp_path):
    mistakes = [
        ({"methods": []}, "--methods '': give names separated by commas"),
        ({"seeds": []}, "--seeds : give whole numbers separated by commas"),
        ({"margins": {"SFR_rel": 1}}, "--margins: SFR_rel is 1: extra inputs are not permitted"),
        ({"methods": ["derpp"], "seeds": [43, 99]}, "no seed 99 in the timeline: there are: 42, 43, 44"),
    ]
    evidence = Evidence(Timeline(timeline_frame()))
    (answer,) = ask(tmp_path, [study(evidence, scored(evidence, {}), [settings for settings, _ in mistakes])])
    assert answer["scores"] == [{"error": message} for _, message in mistakes]


@needs_node
def test_null_and_missing_are_the_study_s_own(tmp_path):
    evidence = Evidence(Timeline(timeline_frame()))
    settings = [
        {},
        dict.fromkeys(["tau", "window", "margins", "baseline", "methods", "seeds"]),
        {"margins": {"PD": 0.5, "AD": None}},
    ]
    (answer,) = ask(tmp_path, [study(evidence, scored(evidence, {"tau": "0.4"}), settings)])
    first, second, third = (one["card"] for one in answer["scores"])
    assert first == second
    assert (first["tau"], third["margins"]) == (0.4, {"AD": 1, "PD": 0.5, "SFR_rel": 0.02})
