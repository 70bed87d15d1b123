"""``compare``: two or more results side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from einstellung.api.results import Result, Results
from einstellung.api.scoring import AnyPath, load
from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.report.notation import DASH, number
from einstellung.report.notebook import notebook_html, notebook_markdown
from einstellung.report.tables import Cell, Table
from einstellung.view.comparison import Compared
from einstellung.view.comparison import compare as compare_cards
from einstellung.view.verdict import Verdict


@dataclass(frozen=True, repr=False)
class Comparison:
    """Results side by side; ``data`` is what ``einstellung view`` shows of the same comparison."""

    labels: tuple[str, ...]
    data: Mapping[str, Any]

    @property
    def facets(self) -> tuple[str, ...]:
        """The facets that :meth:`table` can be limited to."""
        return tuple(facet["name"] for facet in self.data["facets"])

    @property
    def answers(self) -> dict[str, str]:
        """The answer of every result."""
        return {label: study["answer"] for label, study in zip(self.labels, self.data["studies"], strict=True)}

    def table(self, facet: str | None = None) -> pd.DataFrame:
        """A row per method, facet and result: mean, sd, n, and the difference from the first result with its 95 % interval."""
        if facet is not None and facet not in self.facets:
            raise InputError(f"there is no facet '{facet}': {suggestion(facet, self.facets)}")
        rows = []
        for row in self.data["rows"]:
            for name, cells in row["facets"].items():
                if facet not in (None, name):
                    continue
                for label, cell in zip(self.labels, cells, strict=True):
                    plain = {key: cell[key] for key in ("mean", "sd", "n")}
                    against = cell.get("difference") or {}
                    rows.append({"method": row["method"], "facet": name, "result": label, **plain, **_flat(against)})
        return pd.DataFrame(rows)

    @property
    def settings(self) -> pd.DataFrame:
        """The settings in which the results differ."""
        rows = [*self.data["conditions"], *self.data["settings"]]
        return pd.DataFrame([[row["name"], *row["values"]] for row in rows], columns=["setting", *self.labels])

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dict(self.data)

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.labels)}: {len(self.data['rows'])} methods, {len(self.facets)} facets>"

    def _repr_html_(self) -> str:
        return notebook_html("Comparison", self._sentences(), self._shown(), self._notes())

    def _repr_markdown_(self) -> str:
        return notebook_markdown("Comparison", self._sentences(), self._shown(), self._notes())

    def _notes(self) -> list[str]:
        first = f"Mean ± standard deviation; below it, the difference from {self.labels[0]} with its 95 % interval."
        return [first, self.data["note"]]

    def _sentences(self) -> list[str]:
        return [" vs ".join(self.labels), *(f"{label}: {answer}" for label, answer in self.answers.items())]

    def _shown(self) -> Table:
        """Every method with the facets of the diagnosis' own table, a row for each result."""
        facets = [facet for facet in self.data["facets"] if facet["name"] in self.data["shown"]]
        rows = []
        for row in self.data["rows"]:
            for place, label in enumerate(self.labels):
                cells = [row["facets"][facet["name"]][place] for facet in facets]
                rows.append((Cell(row["method"]), Cell(label), *map(_cell, cells)))
        head = ("method", "result", *(facet["head"] for facet in facets))
        return Table("Comparison", "", head, tuple(rows), (), words=2)


def compare(*results: Result | Results | AnyPath, **named: Result | AnyPath) -> Comparison:
    """Compare two or more results: objects, or paths that :func:`load` reads. Keywords name them: ``compare(old=a, new=b)``.

    Differences are against the first result: paired where it has seeds in common with the other, with 95 % intervals.
    """
    given: list[tuple[str | None, Any]] = [(None, one) for one in results] + list(named.items())
    found: list[tuple[str, Result]] = []
    for label, one in given:
        loaded = one if isinstance(one, Result | Results) else load(one)
        if isinstance(loaded, Results):
            found += [(f"{label} {name}" if label else name, study) for name, study in loaded.items()]
        else:
            found.append((label or loaded.name, loaded))
    if len(found) < 2:
        raise InputError(f"compare needs two results or more, not {len(found)}")
    labels = _distinct([label for label, _ in found])
    studies = [
        Compared(label, label, Verdict(result.kind, result.card, "the result"), result.config)
        for label, (_, result) in zip(labels, found, strict=True)
    ]
    return Comparison(tuple(labels), compare_cards(studies))


def _distinct(labels: list[str]) -> list[str]:
    """The labels, numbered where two are the same.

    >>> _distinct(["demo", "demo", "mine"])
    ['demo (1)', 'demo (2)', 'mine']
    """
    return [
        f"{label} ({labels[: place + 1].count(label)})" if labels.count(label) > 1 else label
        for place, label in enumerate(labels)
    ]


def _flat(difference: Mapping[str, Any]) -> dict[str, Any]:
    """The difference from the first result, with the ends of its interval as numbers of their own."""
    if not difference:
        return {}
    low, high = difference["ci95"] or (None, None)
    return {"difference": difference["value"], "ci95_low": low, "ci95_high": high, "interval": difference["interval"]}


def _cell(cell: Mapping[str, Any]) -> Cell:
    if cell["mean"] is None:
        return Cell(DASH)
    text = number(cell["mean"]) + (f" ± {number(cell['sd'])}" if cell["sd"] is not None else "")
    against = cell.get("difference") or {}
    if against.get("value") is None:
        return Cell(text)
    ends = against["ci95"]
    interval = f" [{', '.join(number(end, signed=True) for end in ends)}]" if ends else ""
    return Cell(f"{text}\n{number(against['value'], signed=True)}{interval}")
