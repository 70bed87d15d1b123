"""Two small diagnoses for the tests of what all kinds share: one that is shown in families and sweeps, one by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from einstellung.diagnoses.card import Card, MethodRecord
from einstellung.diagnoses.contract import Diagnosis, Evidence, Members
from einstellung.diagnoses.settings import Settings
from einstellung.report.family import FAMILY, SWEEP, FamilyPage
from einstellung.report.tables import Cell, Table


class ToySettings(Settings):
    """One number, which the card repeats."""

    level: float = Field(default=0.5, gt=0, le=1, description="What a good accuracy is.")


class ToyCard(Card):
    """How many seeds every method has, and which other studies were there when it was scored."""

    kind: Literal["toy", "loner"] = "toy"
    schema_version: int = 1
    level: float
    methods: Mapping[str, MethodRecord]
    siblings: tuple[str, ...] = ()


class Toy(Diagnosis[ToySettings, ToyCard]):
    """Counts seeds. ``seen``: the members of the last family or sweep that it was asked to show."""

    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "Toy"
    topic: ClassVar[str] = "toys"
    Settings: ClassVar[type[ToySettings]] = ToySettings
    Card: ClassVar[type[ToyCard]] = ToyCard
    grouped: ClassVar[frozenset[str]] = frozenset({FAMILY, SWEEP})
    seen: ClassVar[list[Members[Any]]] = []

    def recognises(self, splits: Sequence[str]) -> bool:
        return f"{self.name}_split" in splits

    def score(self, evidence: Evidence, settings: ToySettings) -> ToyCard:
        timeline = evidence.timeline
        return ToyCard(
            kind=self.name,  # type: ignore[arg-type]
            baseline="base",
            level=settings.level,
            methods={method: MethodRecord(n_seeds=len(timeline.seeds(method))) for method in timeline.methods},
            warnings=evidence.failures,
            siblings=tuple(evidence.siblings),
        )

    def answer(self, card: ToyCard) -> list[str]:
        return [f"{len(card.methods)} methods."]

    def tables(self, card: ToyCard) -> Mapping[str, Table]:
        values = tuple({"method": method, "seeds": record.n_seeds} for method, record in card.methods.items())
        rows = tuple((Cell(method), Cell(str(record.n_seeds))) for method, record in card.methods.items())
        return {f"{self.name}_seeds": Table("Seeds", "How many.", ("method", "seeds"), rows, values)}

    def family(self, members: Members[ToyCard]) -> FamilyPage:
        self.seen.append(members)
        return FamilyPage(
            name=SWEEP if members.keys else FAMILY,
            title="Toys",
            kicker="Toy",
            answer=[f"{len(members.cards)} studies."],
            data={"studies": {name: card.to_json() for name, card in members.cards.items()}},
            tables={},
        )


class Loner(Toy):
    """The same, but for no page together."""

    name: ClassVar[str] = "loner"
    topic: ClassVar[str] = "loners"
    grouped: ClassVar[frozenset[str]] = frozenset()
