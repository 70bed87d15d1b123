"""A diagnosis of your own: how much of T1 is left after T2? Named by ``diagnosis: forgetting``, or ``score --as forgetting``."""

from __future__ import annotations

from pydantic import Field

from einstellung.diagnoses import diagnoses
from einstellung.diagnoses.card import Card, MethodRecord
from einstellung.diagnoses.contract import Diagnosis
from einstellung.diagnoses.settings import Settings
from einstellung.metrics.statistics import Summary, summarise
from einstellung.report.notation import per_cent
from einstellung.report.tables import Cell, Table


class ForgettingSettings(Settings):
    margin: float = Field(0.1, ge=0, le=1, description="Loss of accuracy on T1 from which a method forgets.")


class ForgettingMethod(MethodRecord):
    lost: Summary


class ForgettingCard(Card):
    methods: dict[str, ForgettingMethod]
    margin: float


@diagnoses.register("forgetting")
class Forgetting(Diagnosis[ForgettingSettings, ForgettingCard]):
    name, title, topic = "forgetting", "Forgetting", "forgetting"
    Settings, Card = ForgettingSettings, ForgettingCard

    def recognises(self, splits):
        return False  # logs of the rigidity index have the same splits: this one has to be named

    def score(self, evidence, settings):
        def lost(method, seed):
            before, after = (evidence.timeline.curve(method, seed, phase, "T1_all")[1] for phase in ("T1", "T2"))
            return float(before[-1] - after[-1]) if len(before) and len(after) else None

        seeds = {method: evidence.timeline.seeds(method) for method in evidence.timeline.methods}
        methods = {
            method: ForgettingMethod(n_seeds=len(own), lost=summarise([lost(method, seed) for seed in own]))
            for method, own in seeds.items()
        }
        margin, baseline = settings.margin, settings.baseline or "sgd"
        return ForgettingCard(kind=self.name, schema_version=1, baseline=baseline, methods=methods, margin=margin)

    def answer(self, card):
        forgot = [
            name for name, own in card.methods.items() if own.lost.mean is not None and own.lost.mean > card.margin
        ]
        return [f"Lost more than {100 * card.margin:g} points of T1: {', '.join(forgot) or 'no method'}."]

    def tables(self, card):
        rows = [(Cell(name), Cell(per_cent(own.lost, spread=True))) for name, own in card.methods.items()]
        values = [{"method": name, "lost": own.lost.mean} for name, own in card.methods.items()]
        return {"forgetting": Table("T1 lost in T2", "Points.", ("method", "lost"), tuple(rows), tuple(values))}

    def figures(self, evidence, card):
        from einstellung.report.figures.canvas import new_figure
        from einstellung.report.figures.plan import Plan

        def draw():
            figure = new_figure(5, 2)
            figure.subplots().bar(list(card.methods), [own.lost.mean or 0 for own in card.methods.values()])
            return figure

        yield Plan("forgetting", "Forgetting", "Accuracy on T1 before T2 minus that after it.", draw)
