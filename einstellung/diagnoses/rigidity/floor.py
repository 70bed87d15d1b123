"""The floor: accuracies so low that their differences are uninformative about the cue.

SFR_rel = -PD - (masked_CL - masked_S). If both models are at chance with the cue covered, SFR_rel equals -PD by construction: a
model that is better with the cue appears to rely more on it, whatever made it better. Such a pair is *saturated*: both models
depend on the cue alone, and the relative index is uninformative.
"""

from __future__ import annotations

from einstellung.diagnoses.card import CardPart
from einstellung.diagnoses.rigidity.words import say
from einstellung.metrics.curves import TOLERANCE
from einstellung.metrics.statistics import Summary

FLOOR_FACTOR = 3  # times chance; how it was chosen: docs/metrics.md, 'The floor'
HIGHEST_FLOOR = 0.25  # with fewer than 12 classes, a multiple of chance already requires learning
UNKNOWN_FLOOR = 0.05  # where the number of classes is not known; 3 / 60, the paper's head


class Floor(CardPart):
    """The accuracy up to which a model counts as knowing nothing, and the chance level it is derived from.

    ``classes`` is the number of outputs of the head; None where it is not known.
    """

    level: float
    chance: float
    classes: int | None = None

    @classmethod
    def of(cls, classes: int | None) -> Floor:
        """
        >>> Floor.of(60).level, Floor.of(None).level, Floor.of(4).level, Floor.of(2).level
        (0.05, 0.05, 0.25, 0.5)
        """
        if classes is None:
            return cls(level=UNKNOWN_FLOOR, chance=UNKNOWN_FLOOR)
        level = max(1 / classes, min(FLOOR_FACTOR / classes, HIGHEST_FLOOR))
        return cls(level=level, chance=1 / classes, classes=classes)

    def describe(self) -> str:
        """
        >>> Floor.of(60).describe()
        '0.050, 3 times chance (1/60)'
        >>> Floor.of(4).describe()
        '0.250 (chance is 1/4)'
        """
        if self.classes is None:
            return say("floor unknown", level=f"{self.level:.3f}")
        few = self.level < FLOOR_FACTOR * self.chance - TOLERANCE
        return say(
            "floor of few" if few else "floor", level=f"{self.level:.3f}", factor=FLOOR_FACTOR, classes=self.classes
        )

    def holds(self, accuracy: Summary) -> bool:
        """Whether an accuracy is not above the floor: the upper end of its interval, or a single seed's value.

        >>> Floor.of(60).holds(Summary(0.02, 0.01, 3, (0.0, 0.045), "t"))
        True
        >>> Floor.of(60).holds(Summary(0.02, 0.03, 3, (0.0, 0.095), "t"))
        False
        """
        if accuracy.mean is None:
            return False
        upper = accuracy.mean if accuracy.ci95 is None else accuracy.ci95[1]
        return upper <= self.level + TOLERANCE
