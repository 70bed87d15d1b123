"""Which splits are evaluated when."""

from __future__ import annotations

from einstellung.results.config import EvaluationConfig
from einstellung.streams import EvaluationSplit, Phase, Stream
from einstellung.timeline import NSC, SC_MASK, SC_PATCH

_NEEDED = {SC_PATCH, SC_MASK, NSC}


def splits_due(stream: Stream, phase: Phase, evaluation: EvaluationConfig, epoch: float, last: bool) -> list[str]:
    """The splits to evaluate at this epoch of ``phase``; at its ``last`` epoch, all splits that the phase evaluates.

    What the index needs (validation, SC with the cue and masked, NSC, and of its own phase whatever a stream marks so) is always
    due; other phases' and extra splits can be measured more rarely once the first phase is over. With ``subsets: end`` only
    validation is due before the last moment. Of a stream with a list of phases, "its own phase" is the one that is trained.
    """
    is_first = phase is stream.phases[0] and len(stream.phases) > 1
    validation = {f"{phase.name}_val", *stream.selected_by}
    needed = {split.replace("T2", phase.name, 1) for split in _NEEDED} if stream.phase_cues else _NEEDED
    always = needed | validation

    def is_due(split: EvaluationSplit) -> bool:
        own = split.phase == phase.name
        if evaluation.subsets == "end" and not last and split.name not in validation:
            return False
        if is_first and evaluation.first_phase in ("all", "own"):
            return evaluation.first_phase == "all" or own
        if split.name in always or (own and split.always) or last:
            return True
        if is_first and not own:
            return False
        if stream.phase_cues and not own and split.name != f"{split.phase}_all":
            return False  # of other phases only what they were trained on, but everything at the end
        every = evaluation.extra_every if own else evaluation.t1_all_every
        return epoch % 1 == 0 and epoch % every == 0

    return [split.name for split in stream.splits if is_due(split)]
