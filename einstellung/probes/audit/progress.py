"""How far an audit is, in forward passes: each stage has an expected number, and counts for no more than that."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from einstellung.probes.audit.model import AuditedModel


class StageProgress:
    """Reports the passes of a model against the expected total; the total itself is reported by :meth:`finish` alone."""

    def __init__(
        self, model: AuditedModel, expected: Mapping[str, float], on_progress: Callable[[int, int], object]
    ) -> None:
        self.model, self.expected, self.on_progress = model, expected, on_progress
        self.total = max(1, round(sum(expected.values())))
        self._stage, self._parts = next(iter(expected)), 1
        self._from = self._to = self._passes = 0.0
        model.on_pass = self._report

    def begin(self, stage: str, parts: int = 1) -> None:
        """A stage of some equal parts begins; those before it are over, however many passes they took."""
        self._stage, self._parts = stage, max(1, parts)
        self.begin_part(0)

    def begin_part(self, part: int) -> None:
        stages = list(self.expected)
        before = sum(self.expected[name] for name in stages[: stages.index(self._stage)])
        length = self.expected[self._stage] / self._parts
        self._from, self._to, self._passes = before + part * length, before + (part + 1) * length, self.model.passes
        self._report()

    def finish(self) -> None:
        self.model.on_pass = lambda: None
        self.on_progress(self.total, self.total)

    def _report(self) -> None:
        done = min(self._from + self.model.passes - self._passes, self._to)
        self.on_progress(min(round(done), self.total - 1), self.total)
