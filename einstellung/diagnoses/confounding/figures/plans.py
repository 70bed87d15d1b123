"""Every figure of a study of confounded tasks: its caption, how it is drawn, or why it cannot be."""

from __future__ import annotations

from pathlib import Path

from einstellung.diagnoses.confounding.answer import describe_card_seeds
from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.figures.learning import draw_learning
from einstellung.diagnoses.confounding.figures.matrix import draw_matrices
from einstellung.diagnoses.confounding.figures.samples import draw_sheet, sheet_tasks
from einstellung.diagnoses.confounding.figures.twins import draw_twins
from einstellung.diagnoses.confounding.figures.verdict import draw_unconfounded
from einstellung.diagnoses.confounding.splits import LABELS, UNCONFOUNDED
from einstellung.report.figures.plan import Plan
from einstellung.report.measured import images_of
from einstellung.report.pictures import read_samples
from einstellung.timeline import Timeline

_UNCONFOUNDED = """Filled: accuracy on the unconfounded test images at the end of training, mean of positives ({positives}) and
negatives ({negatives}); bars: {bars}; {seeds}. Open: mean over the method's own tasks, each right after it was learned.
{ceiling} Dotted: chance."""

_MATRICES = """Accuracy in per cent on the test images of every task and on the unconfounded set, at the end of every phase, mean
over seeds; {seeds}. Orange: wrong; white: chance; blue: right. A network that always predicts 'positive' is blue on the left
and orange on the right. Grey: not measured (joint training has one phase)."""

_LEARNING = """Accuracy over all phases, each curve in its phase on the task of that phase: a fixed sample of its training images,
its validation and its test images; and the unconfounded test images. {spread}; {seeds}. Dots: splits that were evaluated
less often. Diamonds: mean accuracy on the test images of all tasks met so far, at the end of a phase. Dotted: chance. A gap
between training and test is a failure to generalise within the task; a gap between test and unconfounded is what
confounding costs."""

_TWINS = """The task's test images that have a twin, and the twins: the same scene, layout and lights, the truth unchanged,
with the confounder removed from positives or added to negatives ({twins}). Right after the task was learned (joint: at the
end), mean over seeds; {seeds}. A line to the left: the prediction depended on the confounder. Dotted: chance."""

_SAMPLES = """Test images. In each block, the upper row shows test images and the lower row the same scenes with the
confounder of the task removed (positives) or added (negatives)."""


def plan_figures(timeline: Timeline, card: ConfoundingCard, samples: Path | None) -> list[Plan]:
    """The figures in the order of the page; ``samples``: the file of sample images, where there is one."""
    images = read_samples(samples) if samples is not None else {}
    shown = sheet_tasks(images, card.tasks)
    measured = any(record.unconfounded.mean is not None for record in card.methods.values())
    words = _words(timeline, card)

    def caption(template: str) -> str:
        return " ".join(template.format(**words).split())

    return [
        Plan(
            "unconfounded",
            "Unconfounded accuracy and the verdicts",
            caption(_UNCONFOUNDED),
            lambda: draw_unconfounded(card),
            why=None if measured else "unconfounded accuracy was not measured at the end of any run",
        ),
        Plan(
            "matrices",
            "Accuracy after every phase, for positives and negatives",
            caption(_MATRICES),
            lambda: draw_matrices(card),
        ),
        Plan("learning", "Learning curves over all phases", caption(_LEARNING), lambda: draw_learning(timeline, card)),
        Plan(
            "twins",
            "The same scenes with the confounder changed",
            caption(_TWINS),
            lambda: draw_twins(card),
            why=None if _has_twins(card) else "no twins were measured",
        ),
        Plan(
            "samples",
            "Test images and their twins",
            caption(_SAMPLES),
            lambda: draw_sheet(images, shown, card.confounder_of),
            why=None if shown else "these results have no stored sample images",
            pictures=True,
        ),
    ]


def _words(timeline: Timeline, card: ConfoundingCard) -> dict[str, str]:
    """What the captions say of this study."""
    single = all(record.n_seeds == 1 for record in card.methods.values())
    lines = "the single seed" if single else "mean over seeds; bands: one standard deviation (ddof 1)"
    return {
        "seeds": describe_card_seeds(card),
        "positives": images_of(timeline.frame, f"{UNCONFOUNDED}_positive"),
        "negatives": images_of(timeline.frame, f"{UNCONFOUNDED}_negative"),
        "bars": "95 % Wilson interval over images of the single seed" if single else "95 % interval over seeds",
        "spread": f"Lines: {lines}",
        "twins": _count_twins(card),
        "ceiling": _describe_ceiling(card),
    }


def _describe_ceiling(card: ConfoundingCard) -> str:
    if card.ceiling is not None:
        return f"Line: the ceiling ({card.ceiling.source}); grey: within the margin below it."
    if card.variant == UNCONFOUNDED:
        return "No verdict: this is a sanity check."
    return "No ceiling is known, so the verdict compares with the open markers."


def _count_twins(card: ConfoundingCard) -> str:
    """How many twins there are in a panel; tasks and labels may differ."""
    counts = {
        getattr(twins.images, label)
        for record in card.methods.values()
        for twins in record.twins.values()
        for label in LABELS
    }
    known = sorted(count for count in counts if count is not None)
    if not known:
        return "their number was not recorded"
    return f"{known[0]:,} images per panel" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,} images per panel"


def _has_twins(card: ConfoundingCard) -> bool:
    return any(
        twins.learned.pair(label)[1].mean is not None
        for record in card.methods.values()
        for twins in record.twins.values()
        for label in LABELS
    )
