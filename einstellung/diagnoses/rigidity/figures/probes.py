"""Figures of what the probes measured."""

from __future__ import annotations

from collections.abc import Iterator

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.figures.reliability import draw_reliability
from einstellung.diagnoses.rigidity.figures.similarity import draw_similarity
from einstellung.diagnoses.rigidity.wording import describe_card_seeds
from einstellung.report.figures.plan import Plan
from einstellung.results.probe_files import probed
from einstellung.results.run_files import RunFiles

SECTION = "corroboration"


def probe_plans(card: RigidityCard, files: RunFiles) -> Iterator[Plan]:
    """The figures of the probes that were run."""
    found, seeds = card.corroboration, describe_card_seeds(card)
    if found is None:
        return
    if rows := found.measured.get("cka"):
        words = (
            "Unbiased linear CKA by layer, from the input (top) to the features before the head; mean over seeds; "
            f"{seeds}. Columns: the net after T2 against the net after T1 on T1's test images and on SC images with the "
            f"cue; against {card.baseline} of the same seed ({card.baseline} itself: of another seed); and the same net "
            "with the cue present against covered, on SC images only and on all T2 test images. Blank: not applicable "
            "to the method. CKA ignores a shift common to all images, so a cue that shifts all SC images alike shows "
            "in the last column, not in the one before it."
        )
        yield Plan(
            "probe_cka",
            "Similarity of representations",
            words,
            lambda: draw_similarity(rows, list(card.methods), card.baseline),
            section=SECTION,
        )
    if (calibration := probed(files)[0].calibration) is not None:
        words = (
            "Accuracy against confidence in 15 bins of equal width; images pooled over seeds; larger markers represent "
            f"more images; {seeds}. Below the diagonal, a model is overconfident."
        )
        methods = list(card.methods)
        yield Plan(
            "probe_reliability",
            "Reliability with and without the cue",
            words,
            lambda: draw_reliability(calibration, methods),
            section=SECTION,
        )
