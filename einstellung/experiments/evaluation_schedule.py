"""Which splits are measured when."""

from __future__ import annotations

from einstellung.experiments.config import EvaluationConfig
from einstellung.streams import Phase, Stream
from einstellung.timeline import NSC, SC_MASK, SC_PATCH


def splits_due(stream: Stream, phase: Phase, evaluation: EvaluationConfig, epoch: float, last: bool) -> list[str]:
    """The splits to measure at this moment of ``phase``; at its ``last`` one, all that are ever measured in it.

    What the index needs (validation, SC with the cue and masked, NSC) is always due; T1_all and the extra splits can be
    measured more rarely once the first phase is over. With ``subsets: end`` only validation is due before the last moment.
    """
    is_first = phase is stream.phases[0]
    always = {SC_PATCH, SC_MASK, NSC, f"{phase.name}_val"}

    def is_due(name: str, belongs_to: str) -> bool:
        if evaluation.subsets == "end" and not last and name != f"{phase.name}_val":
            return False
        if is_first:
            return evaluation.first_phase == "all" or belongs_to == phase.name
        if name in always or last:
            return True
        every = evaluation.t1_all_every if belongs_to != phase.name else evaluation.extra_every
        return epoch % 1 == 0 and epoch % every == 0

    return [split.name for split in stream.splits if is_due(split.name, split.phase)]
