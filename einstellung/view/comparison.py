"""Studies side by side: every facet of every method, and how much it differs from the first study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from einstellung.diagnoses.card import Card
from einstellung.metrics.differences import seed_difference
from einstellung.metrics.statistics import mean_and_sd
from einstellung.report.notation import FACETS
from einstellung.results.config import StudyConfig
from einstellung.view.verdict import Verdict

NOTE = (
    "Differences are relative to the first study. With at least two common seeds: mean over the common seeds and "
    "paired t interval; otherwise difference of the means and Welch's t interval. 95 % intervals, not corrected for "
    "multiple comparisons."
)
_MOST_SETTINGS = 40


@dataclass(frozen=True)
class Compared:
    """One study of a comparison."""

    key: str
    label: str
    verdict: Verdict
    config: StudyConfig | None


def compare(studies: Sequence[Compared]) -> dict[str, Any]:
    """Methods x facets of all studies, what differs between them, and whether they can be compared at all."""
    cards = [study.verdict.card.baseline_first() for study in studies]
    values = [per_seed(card) for card in cards]
    same_kind = len({card.kind for card in cards}) == 1
    methods = list(dict.fromkeys(method for found in values for method in found))
    facets = list(dict.fromkeys(facet for found in values for own in found.values() for facet in own))
    facets = [facet for facet in facets if any(own.get(facet) for found in values for own in found.values())]
    rows = [
        {
            "method": method,
            "facets": {
                facet: _cells([found.get(method, {}).get(facet, {}) for found in values], same_kind) for facet in facets
            },
        }
        for method in methods
    ]
    return {
        "studies": [
            {
                "key": study.key,
                "label": study.label,
                "basis": study.verdict.basis,
                "stored": study.verdict.stored,
                "answer": study.verdict.diagnosis.answer(study.verdict.card.baseline_first())[0],
            }
            for study in studies
        ],
        "facets": [{"name": facet, "head": _head(facet), "meaning": _meaning(facet)} for facet in facets],
        "shown": _first_shown(studies[0].verdict, facets),
        "rows": rows,
        "note": NOTE
        if same_kind
        else "The studies have different diagnoses, so their numbers are shown without differences.",
        "conditions": _differing([dict(study.verdict.diagnosis.conditions(study.verdict.card)) for study in studies]),
        "settings": _differing([_flat(study.config) for study in studies])[:_MOST_SETTINGS],
    }


def per_seed(card: Card) -> dict[str, dict[str, dict[int, float]]]:
    """By method and facet, the value of every seed that has one: what a card keeps under ``methods.*.per_seed``.

    A facet that no seed has a value of is there and empty, so that facets keep the card's order.
    """
    found: dict[str, dict[str, dict[int, float]]] = {}
    for method, record in card.to_json()["methods"].items():
        own = found.setdefault(method, {})
        for seed, values in record.get("per_seed", {}).items():
            for facet, value in values.items():
                of_facet = own.setdefault(facet, {})
                if isinstance(value, int | float) and not isinstance(value, bool):
                    of_facet[int(seed)] = float(value)
    return found


def _cells(by_study: Sequence[Mapping[int, float]], differences: bool) -> list[dict[str, Any]]:
    cells = []
    for number, values in enumerate(by_study):
        mean, sd, n = mean_and_sd(list(values.values()))
        cell: dict[str, Any] = {"mean": mean, "sd": sd, "n": n}
        if number and differences:
            cell["difference"] = asdict(seed_difference(by_study[0], values))
        cells.append(cell)
    return cells


def _first_shown(verdict: Verdict, facets: Sequence[str]) -> list[str]:
    """The facets to begin with: those that the diagnosis' own table has, or the first few."""
    heads = {_plain(head) for head in verdict.diagnosis.overview(verdict.card).table.head}
    own = [facet for facet in facets if {_plain(facet), _plain(_head(facet))} & heads]
    return own or list(facets[:6])


def _plain(head: str) -> str:
    return "".join(letter for letter in head.lower() if letter.isalnum() or letter in "δτ@")


def _head(facet: str) -> str:
    return FACETS[facet].head if facet in FACETS else facet


def _meaning(facet: str) -> str:
    return FACETS[facet].meaning if facet in FACETS else ""


def _differing(settings: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Settings that are not the same in all studies; None where a study has none."""
    keys = dict.fromkeys(key for one in settings for key in one)
    rows = [{"name": key, "values": [one.get(key) for one in settings]} for key in keys]
    return [row for row in rows if len(set(map(str, row["values"]))) > 1]


def _flat(config: StudyConfig | None) -> dict[str, str]:
    """A configuration as ``section.key`` and text, without what is only a name."""
    found: dict[str, str] = {}

    def add(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping) and value:
            for key, inner in value.items():
                add(f"{prefix}.{key}" if prefix else str(key), inner)
        elif prefix != "name":
            found[prefix] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)

    add("", {} if config is None else config.model_dump(mode="json"))
    found.pop("", None)
    return found
