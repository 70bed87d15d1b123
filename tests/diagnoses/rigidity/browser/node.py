"""The browser's scoring, run in Node; and how its cards are compared with Python's."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from einstellung.arguments import names, whole_numbers
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.rigidity.browser_data import SCRIPTS, payload, script
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="node is not installed: the browser's scoring was not compared with Python's"
)
CLOSE = 1e-9


def ask(folder: Path, requests: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The answers of one Node process to all requests (see ``harness.js``)."""
    asked, answered = folder / "requests.jsonl", folder / "answers.jsonl"
    with asked.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(request, allow_nan=False) + "\n" for request in requests)
    (page := folder / "page.js").write_text(script(), encoding="utf-8")
    command = [NODE, Path(__file__).with_name("harness.js"), asked, answered, page, *SCRIPTS]
    subprocess.run(list(map(str, command)), check=True, timeout=120)
    with answered.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def study(evidence: Evidence, card: RigidityCard, settings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The request to score a study for several settings."""
    return {"payload": payload(evidence, card), "settings": list(settings)}


def scored(evidence: Evidence, settings: Mapping[str, str]) -> RigidityCard:
    """The card that ``einstellung score`` makes for options as they are typed."""
    given = dict(settings)
    methods, seeds = given.pop("methods", None), given.pop("seeds", None)
    chosen = evidence.only(
        None if methods is None else names("--methods", methods),
        None if seeds is None else whole_numbers("--seeds", seeds),
    )
    parsed = parse_settings(Rigidity.Settings, given, Rigidity.name, lambda key: "--" + key.replace("_", "-"))
    return Rigidity().score(chosen, parsed)


def shown(card: RigidityCard) -> dict[str, Any]:
    """A card as JSON, and the answer."""
    return {"card": card.to_json(), "answer": Rigidity().answer(card)}


def in_python(evidence: Evidence, settings: Mapping[str, str]) -> dict[str, Any]:
    """What the command shows: the card and the answer, or the message of the error."""
    try:
        return shown(scored(evidence, settings))
    except InputError as error:
        return {"error": str(error)}


def in_browser(settings: Mapping[str, str]) -> dict[str, Any]:
    """The same options as a page gives them: numbers, lists, margins by name."""

    def number(text: str) -> Any:
        try:
            value = float(text)
        except ValueError:
            return text
        if not math.isfinite(value):
            return text
        return (
            int(text) if text.lstrip("-").isdigit() and abs(value) < 2**53 else text if abs(value) >= 2**53 else value
        )

    given: dict[str, Any] = {key: number(text) for key, text in settings.items()}
    if "margins" in given:
        given["margins"] = dict(zip(("AD", "PD", "SFR"), map(number, settings["margins"].split(",")), strict=True))
    for key, convert in (("tau_grid", number), ("seeds", number), ("methods", str)):
        if key in given:
            given[key] = [convert(part) for part in settings[key].split(",")]
    if "baseline" in given:
        given["baseline"] = settings["baseline"]
    return given


def differences(python: Any, browser: Any, at: str = "") -> Iterator[str]:
    """Where two results differ: another key, text, truth value, or number by more than 1e-9 (relative or absolute)."""
    if isinstance(python, dict) and isinstance(browser, dict):
        for key in python.keys() | browser.keys():
            if key not in python or key not in browser:
                yield f"{at}/{key} is missing in {'Python' if key not in python else 'the browser'}"
            else:
                yield from differences(python[key], browser[key], f"{at}/{key}")
    elif isinstance(python, list) and isinstance(browser, list) and len(python) == len(browser):
        for place, (one, other) in enumerate(zip(python, browser, strict=True)):
            yield from differences(one, other, f"{at}/{place}")
    elif _is_number(python) and _is_number(browser):
        if not math.isclose(python, browser, rel_tol=CLOSE, abs_tol=CLOSE):
            yield f"{at}: {python!r} in Python, {browser!r} in the browser"
    elif type(python) is not type(browser) or python != browser:
        yield f"{at}: {python!r} in Python, {browser!r} in the browser"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
