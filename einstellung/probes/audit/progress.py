"""How far an audit is, in forward passes: each stage has an expected number, and counts for no more than that."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from einstellung.probes.audit.model import AuditedModel


class StageProgress:
    """Reports passes of a model against the expected total; the total itself is reported by :meth:`finish` alone."""

    def __init__(
        self, model: AuditedModel, expected: Mapping[str, float], on_progress: Callable[[int, int], object]
    ) -> None:
        self.model, self.expected, self.on_progress = model, expected, on_progress
        self.total = max(1, round(sum(expected.values())))
        self._before = self._length = 0.0
        self._seen = model.images_seen

    def begin(self, stage: str) -> None:
        """A stage begins; those before it are over, however many passes they took."""
        stages = list(self.expected)
        self._before = sum(self.expected[name] for name in stages[: stages.index(stage)])
        self._length, self._seen = self.expected[stage], self.model.images_seen
        self.update()

    def update(self, _: int = 0) -> None:
        """Passes were made."""
        self._report(min(self.model.images_seen - self._seen, self._length))

    def step(self, done: int, of: int) -> None:
        """``done`` of some equal steps of the stage are over."""
        self._report(self._length * done / of)

    def _report(self, within: float) -> None:
        self.on_progress(min(round(self._before + within), self.total - 1), self.total)

    def finish(self) -> None:
        self.on_progress(self.total, self.total)
