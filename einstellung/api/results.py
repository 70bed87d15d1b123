"""The result of a diagnosis as an object: it shows itself, and gives its tables, figures, verdicts and page."""

from __future__ import annotations

import re
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from einstellung.diagnoses.reporting import Scored, write_report
from einstellung.diagnoses.verdicts import MethodVerdict, method_verdicts
from einstellung.errors import InputError
from einstellung.hashes import write_sealed
from einstellung.registry import suggestion
from einstellung.report.family import Study, write_family_page
from einstellung.report.notebook import notebook_html, notebook_markdown
from einstellung.report.tables import Missing, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from einstellung.diagnoses.card import Card
    from einstellung.diagnoses.contract import Diagnosis, Evidence
    from einstellung.report.family import FamilyPage
    from einstellung.report.figures.plan import Plan
    from einstellung.results.config import StudyConfig


_SUMMARY, _DEFAULT_FIGURE = "summary", "accuracy"


@dataclass(frozen=True, repr=False)
class Result:
    """What a diagnosis says about runs. In a notebook it shows the answer and a table with a verdict on every method.

    ``name``: what it is called in comparisons. ``card``: every number and verdict, typed. ``evidence`` is None for a result that
    was read from a ``score.json`` alone: it has a card, but no measurements to draw.
    """

    name: str
    kind: Diagnosis[Any, Any]
    card: Card
    evidence: Evidence | None
    companions: tuple[Scored, ...] = ()
    provenance: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, name: str, scored: Scored, provenance: Mapping[str, Any] | None = None) -> Result:
        for line in scored.evidence.damaged:
            warnings.warn(f"{name}: {line}", stacklevel=3)
        return cls(name, scored.diagnosis, scored.card, scored.evidence, scored.companions, provenance)

    @property
    def diagnosis(self) -> str:
        """The name of the diagnosis."""
        return self.kind.name

    @property
    def config(self) -> StudyConfig | None:
        """The configuration of the study; None for logs."""
        return None if self.evidence is None else self.evidence.config

    @property
    def answer(self) -> str:
        """The answer in one sentence."""
        return self.sentences[0]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer, and the sentences that the page shows with it."""
        return tuple(self.kind.answer(self.card.baseline_first()))

    @property
    def verdicts(self) -> dict[str, MethodVerdict]:
        """By method: ``pattern``, ``certainty`` and ``sentences``."""
        return method_verdicts(self.kind, self.card)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names that :meth:`table` takes."""
        return (_SUMMARY, *(name for name, table in self._tables().items() if isinstance(table, Table)))

    def table(self, name: str | None = None) -> pd.DataFrame:
        """A table as a DataFrame of plain numbers.

        Without a name, a row per method: pattern, certainty, seeds, and every facet with the ends of its 95 % interval.
        """
        tables = self._tables()
        if name in (None, _SUMMARY):
            return self._summary()
        if name not in tables:
            raise InputError(f"there is no table '{name}': {suggestion(str(name), self.tables)}")
        found = tables[name]
        if isinstance(found, Missing):
            raise InputError(f"the table '{name}' cannot be made: {found.why}")
        return pd.DataFrame(list(found.values))

    def _summary(self) -> pd.DataFrame:
        forest = self.kind.forest(self.card.baseline_first())
        by_method = {row.method: row for row in forest.rows} if forest is not None else {}
        rows = []
        for method, verdict in self.verdicts.items():
            row: dict[str, Any] = {"method": method, "pattern": verdict.pattern, "certainty": verdict.certainty}
            row["seeds"] = self.card.methods[method].n_seeds
            for key, value in (by_method[method].values if method in by_method else {}).items():
                row |= {key: value.mean, f"{key}_low": value.low, f"{key}_high": value.high}
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def figures(self) -> tuple[str, ...]:
        """The names that :meth:`plot` takes."""
        return _drawable(self._plans())

    def plot(self, name: str | None = None) -> Figure:
        """A figure of the report, as a matplotlib figure of its own (no pyplot state). ``figures`` lists the names.

        Without a name, ``accuracy``; where a diagnosis has no such figure, its first one.
        """
        return _plotted(self._plans(), name)

    @property
    def timeline(self) -> pd.DataFrame:
        """The measurements: one row per method, seed, phase, epoch and split."""
        return self._scored("the timeline").evidence.timeline.frame.copy()

    def to_json(self) -> dict[str, Any]:
        """The card as plain values: what ``einstellung score --json`` prints."""
        return {**self.card.to_json(), **{one.diagnosis.name: one.card.to_json() for one in self.companions}}

    def save(self, path: Path | str) -> Path:
        """Write the report and return the page's path.

        ``report.html``: the page alone, one file that opens offline. ``result.json``: the card. Any other name is a folder for
        the page, figures, tables and ``score.json``.
        """
        path = Path(path)
        if path.suffix == ".json":
            return write_sealed(path, self.to_json())
        scored = self._scored("a page")
        if path.suffix not in (".html", ".htm"):
            _check_folder(path)
            return write_report(path, scored, title=self._title(), provenance=self.provenance)
        if path.is_dir():
            raise InputError(
                f"{path} is a folder; give a file name that ends in .html, or a folder without that ending"
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=path.parent, prefix=".report-") as folder:
                page = write_report(Path(folder), scored, title=self._title(), provenance=self.provenance)
                shutil.move(page, path)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or error}") from None
        return path

    def __repr__(self) -> str:
        runs = sum(record.n_seeds for record in self.card.methods.values())
        return (
            f"<Result {self.name!r} ({self.diagnosis}): {len(self.card.methods)} methods, {runs} runs. {self.answer}>"
        )

    def _repr_html_(self) -> str:
        return notebook_html(self._title(), self.sentences, self.overview_table(), self._notes())

    def _repr_markdown_(self) -> str:
        return notebook_markdown(self._title(), self.sentences, self.overview_table(), self._notes())

    def overview_table(self) -> Table:
        """The table that a terminal and a notebook show, as text for people."""
        return self.kind.overview(self.card.baseline_first()).table

    def _title(self) -> str:
        return f"{self.kind.title}: {self.name}"

    def _notes(self) -> list[str]:
        card = self.card
        failed = [f"Failed check: {check.name} ({check.detail})" for check in card.checks if check.passed is False]
        warnings = [f"Warning: {warning}" for warning in card.warnings]
        return [self.overview_table().note, *failed, *warnings]

    def _tables(self) -> dict[str, Table | Missing]:
        made = dict(self.kind.tables(self.card.baseline_first()))
        for other in self.companions:
            made |= other.diagnosis.tables(other.card)
        return made

    def _plans(self) -> dict[str, Plan]:
        evidence = self._scored("a figure").evidence
        return _by_short_name(self.kind.figures(evidence, self.card.baseline_first()))

    def _scored(self, what: str) -> Scored:
        if self.evidence is None:
            raise InputError(
                f"{self.name} holds a card without measurements, which {what} needs: give the logs or the results folder to "
                "score() or load()"
            )
        return Scored(self.kind, self.evidence, self.card, self.companions)


class Results(Mapping[str, Result]):
    """The studies of a sweep or a family by name, and what is said of them together."""

    def __init__(self, name: str, studies: Mapping[str, Result], page: FamilyPage) -> None:
        self.name = name
        self._studies = dict(studies)
        self._page = page

    def __getitem__(self, name: str) -> Result:
        if name not in self._studies:
            raise KeyError(f"no study '{name}': {suggestion(name, self._studies)}")
        return self._studies[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._studies)

    def __len__(self) -> int:
        return len(self._studies)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is said of the studies together."""
        return tuple(self._page.answer)

    @property
    def answer(self) -> str:
        """The answer in one sentence."""
        return self.sentences[0] if self.sentences else ""

    @property
    def tables(self) -> tuple[str, ...]:
        """The names that :meth:`table` takes."""
        return tuple(self._page.tables)

    def table(self, name: str | None = None) -> pd.DataFrame:
        """A table over all studies as a DataFrame of plain numbers; without a name, the one that is shown here."""
        chosen = name or self._page.printed or self.tables[0]
        if chosen not in self._page.tables:
            raise InputError(f"there is no table '{chosen}': {suggestion(chosen, self.tables)}")
        return pd.DataFrame(list(self._page.tables[chosen].values))

    @property
    def verdicts(self) -> dict[str, dict[str, MethodVerdict]]:
        """By study and method: ``pattern``, ``certainty`` and ``sentences``."""
        return {name: study.verdicts for name, study in self.items()}

    @property
    def figures(self) -> tuple[str, ...]:
        """The names that :meth:`plot` takes; a study has figures of its own."""
        return _drawable(_by_short_name(self._page.figures))

    def plot(self, name: str | None = None) -> Figure:
        """A figure over all studies, as a matplotlib figure of its own; without a name, the first one."""
        plans = _by_short_name(self._page.figures)
        if name is not None and (short := _short(name)) not in plans:
            first = next(iter(self))
            if short in self[first].figures:
                raise InputError(f"'{short}' is a figure of a single study: [{first!r}].plot({short!r})")
        return _plotted(plans, name)

    def to_json(self) -> dict[str, Any]:
        """What ``sweep.json`` or ``family.json`` holds."""
        return dict(self._page.data)

    def save(self, path: Path | str) -> Path:
        """Write the page over all studies and a report of each into a folder, and return the page's path.

        ``result.json``: the values of all studies alone.
        """
        path = Path(path)
        if path.suffix == ".json":
            return write_sealed(path, self.to_json())
        if path.suffix in (".html", ".htm"):
            raise InputError(f"{path}: several studies have a page each; give a folder, or save one study")
        _check_folder(path)
        for name, study in self.items():
            study.save(path / name)
        shown = [
            Study(name, study.card.checks, study.card.warnings, study.card.fewest_seeds) for name, study in self.items()
        ]
        return write_family_page(path, self._page, shown)

    def __repr__(self) -> str:
        return f"<Results {self.name!r}: {', '.join(self._studies)}. {self.answer}>"

    def _repr_html_(self) -> str:
        return notebook_html(self._title(), self.sentences, self._shown(), self._page.warnings)

    def _repr_markdown_(self) -> str:
        return notebook_markdown(self._title(), self.sentences, self._shown(), self._page.warnings)

    def _title(self) -> str:
        return f"{self._page.title}: {self.name}"

    def _shown(self) -> Table | None:
        tables = self._page.tables
        return tables[self._page.printed] if self._page.printed is not None else next(iter(tables.values()), None)


def _short(name: str) -> str:
    """A figure's name without the number that its file has.

    >>> _short("fig3_accuracy"), _short("survival")
    ('accuracy', 'survival')
    """
    return re.sub(r"^fig\d+_", "", name)


def _by_short_name(plans: Iterable[Plan]) -> dict[str, Plan]:
    return {_short(plan.name): plan for plan in plans}


def _drawable(plans: Mapping[str, Plan]) -> tuple[str, ...]:
    return tuple(name for name, plan in plans.items() if plan.why is None)


def _plotted(plans: Mapping[str, Plan], name: str | None) -> Figure:
    from einstellung.report.figures.canvas import drawing

    drawable = _drawable(plans)
    if name is None:
        name = _DEFAULT_FIGURE if _DEFAULT_FIGURE in drawable or not drawable else drawable[0]
    name = _short(name)
    if name not in plans:
        raise InputError(f"there is no figure '{name}': {suggestion(name, drawable)}")
    plan = plans[name]
    if plan.why is not None:
        raise InputError(f"the figure '{name}' cannot be drawn: {plan.why}")
    with drawing():
        figure = plan.draw()
    _show_figures_in_notebook()
    return figure


def _check_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; give a folder, or a file name that ends in .html or .json")
    if any((path / name).exists() for name in ("config.yaml", "sweep.yaml", "family.yaml")):
        raise InputError(f"{path} is the results folder of a study, which has a page already; give another folder")


def _show_figures_in_notebook() -> None:
    """Let IPython show matplotlib figures, which it learns only when pyplot is imported."""
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython
    from IPython.core.pylabtools import select_figure_formats

    if (shell := get_ipython()) is not None:
        select_figure_formats(shell, {"png"})
