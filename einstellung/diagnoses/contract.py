"""The contract of a diagnosis: from evidence to a typed card, and from the card to its presentation.

A kind of study is one folder that implements this class; adding one edits no existing file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from einstellung.diagnoses.baseline import alike
from einstellung.diagnoses.card import Card
from einstellung.diagnoses.settings import Settings
from einstellung.report.family import FamilyPage
from einstellung.report.forest import Forest
from einstellung.report.pictures import PictureRow
from einstellung.report.tables import Missing, Table
from einstellung.report.terminal import Overview
from einstellung.results.config import StudyConfig
from einstellung.results.run_files import RunFiles
from einstellung.timeline import Run, Timeline

if TYPE_CHECKING:
    from einstellung.report.figures.plan import Plan  # matplotlib takes most of a second to import

S = TypeVar("S", bound=Settings)
C = TypeVar("C", bound=Card)


@dataclass(frozen=True)
class Evidence:
    """Everything that a card may rest on; for foreign log files, the timeline alone.

    ``proof`` is what the stream proved before training. ``failures`` has a sentence for every failed run and every damaged file,
    ``damaged`` only for the latter; ``unverified``: files without a recorded hash; ``absent``: runs that the configuration
    lists and that are not there. ``siblings`` are the cards of the other studies of a family, scored without siblings of their
    own; ``source`` is what ``einstellung score`` is called with to score the same runs.
    """

    timeline: Timeline
    proof: Mapping[str, Any] | None = None
    config: StudyConfig | None = None
    runs: RunFiles = field(default_factory=RunFiles)
    failures: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    absent: tuple[Run, ...] = ()
    siblings: Mapping[str, Card] = field(default_factory=dict)
    source: str = "timeline.csv"

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts that the stream's proof states; none of a foreign log."""
        facts: Mapping[str, Any] = (self.proof or {}).get("facts") or {}
        return facts

    def only(self, methods: Collection[str] | None = None, seeds: Collection[int] | None = None) -> Evidence:
        """What is known of these methods and seeds, as if no others had run; None: of all."""
        if methods is None and seeds is None:
            return self
        timeline = self.timeline.only(methods, seeds)
        runs = tuple(run for run in self.runs.runs if run in timeline.runs)
        absent = tuple(
            (method, seed)
            for method, seed in self.absent
            if (methods is None or method in methods) and (seeds is None or seed in seeds)
        )
        return replace(self, timeline=timeline, runs=replace(self.runs, runs=runs), absent=absent)


@dataclass(frozen=True)
class Members(Generic[C]):
    """Studies that are shown together: a family, or a sweep of settings (then their ``keys``, and their ``values`` by name)."""

    cards: Mapping[str, C]
    waiting: tuple[str, ...] = ()  # names of studies without a finished run
    keys: tuple[str, ...] = ()
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


class Diagnosis(ABC, Generic[S, C]):
    """One kind of study.

    ``name`` is what configurations, cards and ``--as`` call it, ``title`` heads its pages, ``topic`` completes "a study of ...".
    ``grouped``: how studies of this kind can share a page: as a ``family``, as a ``sweep``. ``configured_order``:
    whether methods stand in the order of the configuration, else in that of the timeline. ``template``: the file of its page,
    which extends ``shell.html``; without one, the page shows the answer, every figure and every table. ``needs_own_splits``:
    whether only splits that it recognises can be scored, so that a study of another stream is refused before training.
    ``default_baseline``: the method that others are compared with unless the settings name another one; None: there is none.
    ``undefined_without``: what is undefined without a baseline. ``probes``: the probes of nets that it reads.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    topic: ClassVar[str]
    Settings: ClassVar[type[Settings]] = Settings
    Card: ClassVar[type[Card]]
    grouped: ClassVar[frozenset[str]] = frozenset()
    configured_order: ClassVar[bool] = True
    needs_own_splits: ClassVar[bool] = False
    default_baseline: ClassVar[str | None] = None
    undefined_without: ClassVar[str] = "comparisons"
    probes: ClassVar[tuple[str, ...]] = ()
    template: ClassVar[Path | None] = None

    @abstractmethod
    def recognises(self, splits: Sequence[str]) -> bool:
        """Whether a foreign log with these splits was made for this diagnosis."""

    def baseline_among(self, methods: Sequence[str], n_phases: int) -> str | None:
        """The baseline of a study that names none; it may be missing from its methods."""
        return self.default_baseline

    def missing_baseline(self, settings: S, methods: Sequence[str], n_phases: int) -> str | None:
        """A warning before training where none of a study's methods is the baseline; None where one is or none is needed."""
        wanted = settings.baseline or self.baseline_among(methods, n_phases)
        if wanted is None or alike(wanted, methods):
            return None
        return (
            f"no baseline '{wanted}' among the methods: {self.undefined_without} will be undefined; add it to methods "
            "(now or later), or set score.baseline to another method"
        )

    def reads_siblings(self, config: StudyConfig) -> bool:
        """Whether the card of a study depends on the other studies of its family or sweep."""
        return True

    @abstractmethod
    def score(self, evidence: Evidence, settings: S) -> C:
        """The card of the evidence; pure."""

    @abstractmethod
    def answer(self, card: C) -> list[str]:
        """The sentences that a reader sees first; the first is the answer."""

    @abstractmethod
    def tables(self, card: C) -> Mapping[str, Table | Missing]:
        """Every table by file name, or why it could not be made; the first is the terminal's."""

    def figures(self, evidence: Evidence, card: C) -> Iterable[Plan]:
        """Every figure, with how it is drawn or why it cannot be."""
        return ()

    def overview(self, card: C) -> Overview:
        """What the terminal shows."""
        first = next(table for table in self.tables(card).values() if isinstance(table, Table))
        return Overview(first, paragraphs=tuple(self.answer(card)))

    def describe_split(self, split: str, card: C) -> str | None:
        """A description of a split; None for a name that the diagnosis does not know."""
        return None

    def split_order(self, split: str, card: C) -> Any:
        """What splits are sorted by in the page's list."""
        return split

    def conditions(self, card: C) -> Mapping[str, str]:
        """What the numbers were measured under (baseline, seeds, thresholds), by name, for the page."""
        return {}

    def page(self, evidence: Evidence, card: C) -> Mapping[str, Any]:
        """What the diagnosis' own template needs in addition."""
        return {}

    def forest(self, card: C) -> Forest | None:
        """The page's first screen: methods with verdicts and a few facets. None: the first figure and the first table instead."""
        return None

    def pictures(self, evidence: Evidence, card: C) -> Sequence[PictureRow]:
        """What the models are tested on, as rows of the same scenes, where samples are stored."""
        return ()

    def terms(self, card: C) -> Mapping[str, str]:
        """What the page explains on hover and focus, by the text of a table's head or the name in ``parts.term``."""
        return {}

    def scripts(self) -> Sequence[Path | str]:
        """Files of code, or code, that the page runs in the browser, in this order."""
        return ()

    def page_data(self, evidence: Evidence, card: C) -> Mapping[str, Any]:
        """Plain values for the diagnosis' own ``scripts``."""
        return {}

    def export(self, folder: Path, evidence: Evidence, card: C) -> Path | None:
        """Write additional files into a study's folder; return the main one, if any."""
        return None

    def family(self, members: Members[C]) -> FamilyPage | None:
        """The page that shows studies together; None where there is none."""
        return None
