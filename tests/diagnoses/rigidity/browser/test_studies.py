"""The browser's card is Python's on the committed studies, on a demo with its run files, and on logs of other tools."""

from __future__ import annotations

import io
import lzma
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import evidence_of
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline
from tests.diagnoses.rigidity.hand_made import timeline_frame
from tests.test_reference import ROOT, unpacked

from .node import ask, differences, in_browser, in_python, needs_node, scored, shown, study

STUDIES = ("cifar100-two-phase", "cifar100-share/share-0.8", "cifar100-share/habit-same", "demo")
CONTROLS = ("cue", "habit", "no-cue", "independent", "always")
#: Options as they are typed.
SETTINGS: tuple[dict[str, str], ...] = (
    {"tau": "0.5"},
    {"tau": "0.35", "smoothing": "none", "margins": "0,0,0"},
    {"window": "5", "smoothing": "centred", "final": "last", "margins": "2,0.05,0.1"},
    {"final": "best-val", "classes": "4", "tau_grid": "0.2,0.7"},
    {"baseline": "sgd", "tau": "0.45"},
    {"baseline": "scrach"},
    {"tau": "1.01"},
)


def fork_log(folder: Path) -> Timeline:
    """Files as the public Mammoth fork writes them: epochs count from 0, both phases in one curve, the case of names varies."""
    rng = np.random.default_rng(3)
    for method, phases in (("Scratch_T2", 1), ("SGD", 2), ("derpp", 2)):
        for seed in (42, 123, 456):
            rows = ["method,seed,epoch_eff,split,acc,top5,loss"]
            for phase in range(phases):
                for epoch in range(6):
                    grown = (1 - np.exp(-(epoch + 1) * (0.4 + 0.3 * phase))) * rng.uniform(0.9, 1)
                    values = {"T1_all": 0.6 * grown * (phases > 1), "T2_shortcut_normal": 0.9 * grown}
                    values |= {"T2_shortcut_masked": 0.4 * grown, "T2_nonshortcut_normal": 0.7 * grown}
                    rows += [
                        f"{method},{seed},{epoch},{split},{acc:.4f},{min(acc * 1.3, 1):.4f},{1 - acc:.4f}"
                        for split, acc in values.items()
                    ]
            (folder / f"timeline_{method}_{seed}.csv").write_text("\n".join(rows) + "\n")
    return Timeline.read_many([folder])


def control(name: str) -> Timeline:
    """Runs of the verdict's controls: up to 64 seeds."""
    file = ROOT / "studies" / "verdict-controls" / f"{name}.csv.xz"
    frame = pd.read_csv(io.BytesIO(lzma.decompress(file.read_bytes())), float_precision="round_trip")
    if name in ("cue", "always"):  # scratch alone: half of the seeds as another method
        late = frame["seed"] > frame["seed"].median()
        frame.loc[late, "method"] = "dealt"
        frame.loc[late, "seed"] -= frame["seed"].max() // 2
    return Timeline(frame)


def evidences(folder: Path) -> Iterator[tuple[str, Evidence]]:
    for place, name in enumerate(STUDIES):
        results = unpacked(name, folder / str(place))
        if (probes := ROOT / "studies" / name / "probes").exists():
            shutil.copytree(probes, results / "probes")
        yield name, evidence_of(ResultsFolder(results))
    for name in CONTROLS:
        yield name, Evidence(control(name))
    (folder / "fork").mkdir()
    yield "fork", Evidence(fork_log(folder / "fork"))
    yield "hand-made", Evidence(Timeline(timeline_frame()))


def filters(timeline: Timeline) -> Iterator[dict[str, str]]:
    """Some methods and seeds, with and without the baseline."""
    seeds = timeline.seeds(timeline.methods[0])
    yield {"methods": ",".join(timeline.methods[:2]), "seeds": ",".join(map(str, seeds[::2]))}
    yield {"methods": ",".join(method for method in timeline.methods if not method.startswith("scratch")) or "none"}
    yield {"seeds": str(seeds[-1]), "tau": "0.4"}


def without(card: dict[str, Any], paths: list[str]) -> dict[str, Any]:
    """A card without what is right for the study's own settings only."""
    kept = {key: value for key, value in card.items() if key not in paths}
    kept["checks"] = [check for place, check in enumerate(card["checks"]) if f"checks[{place}]" not in paths]
    if "besides[?@.kind=='pull']" in paths:
        kept["besides"] = [found for found in card["besides"] if found["kind"] != "pull"]
    for path in paths:
        if found := re.fullmatch(r"warnings\[-(\d+):\]", path):
            kept["warnings"] = card["warnings"][: -int(found[1])]
    return kept


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("studies")
    found: dict[str, dict[str, Any]] = {}
    requests = []
    for name, evidence in evidences(folder):
        settings = [{}, *SETTINGS, *filters(evidence.timeline)]
        card = scored(evidence, {})
        requests.append(study(evidence, card, [in_browser(one) for one in settings]))
        python = [shown(card), *(in_python(evidence, one) for one in settings[1:])]
        found[name] = {"settings": settings, "python": python}
    for case, answer in zip(found.values(), ask(folder, requests), strict=True):
        case |= answer
    return found


@needs_node
def test_the_study_itself_is_the_same_card(cases):
    assert set(cases) == {*STUDIES, *CONTROLS, "fork", "hand-made"}
    for name, case in cases.items():
        assert list(differences(case["python"][0], case["scores"][0])) == [], name


@needs_node
def test_other_settings_give_what_the_command_gives(cases):
    for name, case in cases.items():
        for settings, python, browser in zip(case["settings"], case["python"], case["scores"], strict=True):
            if "card" in python and "card" in browser:
                python, browser = (
                    result | {"card": without(result["card"], case["asInStudy"])} for result in (python, browser)
                )
            assert list(differences(python, browser)) == [], (name, settings)
        assert sum("error" in result for result in case["scores"]) >= 2, name


@needs_node
def test_what_comes_from_run_files_is_named(cases):
    demo = cases["demo"]
    assert demo["scores"][0]["card"]["per_image"] is not None
    assert demo["asInStudy"] == ["per_image", "checks[8]", "checks[9]", "besides[?@.kind=='pull']"]
    other = demo["scores"][1]["card"]
    assert other["per_image"] == demo["scores"][0]["card"]["per_image"]
    assert other["checks"][8]["name"] == "paired predictions are of the same images"
    probed = cases["cifar100-share/share-0.8"]
    assert probed["scores"][1]["card"]["corroboration"] is not None
    assert "corroboration" in probed["asInStudy"]
    assert cases["fork"]["asInStudy"] == []


@needs_node
def test_defaults_are_the_study_s_own_settings(cases):
    for name, case in cases.items():
        assert case["ofDefaults"] == case["scores"][0], name
    defaults = cases["fork"]["defaults"]
    assert defaults["margins"] == {"AD": 1, "PD": 0.02, "SFR": 0.02}
    assert (defaults["tau"], defaults["window"], defaults["smoothing"]) == (0.6, 3, "trailing")
    assert (defaults["baseline"], defaults["final"], defaults["classes"]) == (None, "auto", None)
    assert sorted(defaults["methods"]) == ["derpp", "scratch_t2", "sgd"]
    assert defaults["seeds"] == [42, 123, 456]
    assert cases["cifar100-two-phase"]["defaults"]["classes"] == 60
