r"""The measures of several shortcuts, from the accuracies of groups.

:math:`A_p` is the mean over the classes of the accuracy on their test images of pattern p; :math:`\rho_k` is the share of a
phase's training images in which cue k is common. Undefined parts (None) make an undefined whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from einstellung.diagnoses.shortcuts.splits import patterns_of, subsets_of
from einstellung.errors import InputError
from einstellung.metrics.arithmetic import difference, mean_of

Accuracies = Mapping[str, float | None]
Turned = tuple[bool, ...]
EQUAL = 1e-9  # correlations that differ by less are the same
_ROUNDING = 1e-6


def pattern_weights(correlations: Sequence[float]) -> dict[str, float]:
    r"""How often every pattern occurs in training, where cues are independent given the class.

    .. math:: w_p = \prod_k \rho_k^{p_k} (1 - \rho_k)^{1 - p_k}

    >>> {pattern: round(weight, 4) for pattern, weight in pattern_weights([0.95, 0.95]).items()}
    {'11': 0.9025, '10': 0.0475, '01': 0.0475, '00': 0.0025}
    """
    for rho in correlations:
        if not 0 <= rho <= 1:
            raise InputError(f"correlation {rho:g}: give a share of images from 0 to 1")
    return {
        pattern: math.prod(rho if digit == "1" else 1 - rho for digit, rho in zip(pattern, correlations, strict=True))
        for pattern in patterns_of(len(correlations))
    }


def checked_weights(weights: Mapping[str, float], cues: int) -> dict[str, float]:
    """Weights given by hand: one for every pattern, none below 0, summing to 1.

    >>> checked_weights({"1": 0.7, "0": 0.2}, 1)
    Traceback (most recent call last):
    einstellung.errors.InputError: weights sum to 0.9: shares of all images must sum to 1
    """
    wanted = patterns_of(cues)
    if set(weights) != set(wanted):
        raise InputError(f"weights are for {', '.join(weights)}: one for each of {', '.join(wanted)} is needed")
    total = sum(weights.values())
    if min(weights.values()) < 0 or abs(total - 1) > _ROUNDING:
        raise InputError(f"weights sum to {total:g}: shares of all images must sum to 1")
    return {pattern: float(weights[pattern]) for pattern in wanted}


def turned_cues(weights: Mapping[str, float]) -> Turned:
    r"""Which cues go with the other class in most of the images that the weights describe: :math:`\rho_k < 1/2`.

    With one half a cue goes with neither, and nothing is turned.

    >>> turned_cues(pattern_weights([0.05, 0.95, 0.5]))
    (True, False, False)
    """
    places = range(len(next(iter(weights))))
    shares = [sum(weight for pattern, weight in weights.items() if pattern[place] == "1") for place in places]
    return tuple(share < 0.5 - EQUAL for share in shares)


def in_terms_of_labels(pattern: str, turned: Turned) -> str:
    """From a pattern that says what is common in a phase to the one that its images are filed under: turned digits change.

    >>> in_terms_of_labels("01", (True, True)), in_terms_of_labels("11", (False, True))
    ('10', '10')
    """
    return "".join("01"[(digit == "1") != other] for digit, other in zip(pattern, turned, strict=True))


def in_distribution(accuracies: Accuracies, weights: Mapping[str, float] | None) -> float | None:
    r"""Accuracy on images as they occur in training: :math:`ID = \sum_p w_p A_p`.

    >>> A = {"11": 1.0, "10": 0.8, "01": 0.9, "00": 0.3}
    >>> round(in_distribution(A, pattern_weights([0.95, 0.95])), 6)
    0.984
    """
    if weights is None:
        return None
    parts = [(weight, accuracies.get(pattern)) for pattern, weight in weights.items() if weight > 0]
    return (
        None if any(acc is None for _, acc in parts) else sum(weight * acc for weight, acc in parts if acc is not None)
    )


def shortcut_gaps(
    accuracies: Accuracies, cues: Sequence[str], weights: Mapping[str, float] | None, turned: Turned | None = None
) -> dict[str, float | None]:
    r"""What is lost where a set S of cues is uncommon and all others are common: :math:`gap_S = A_{p(S)} - ID`.

    A cue's common value is the one that goes with the label; of ``turned`` cues it is the other one.

    >>> A = {"11": 1.0, "10": 0.8, "01": 0.9, "00": 0.3}
    >>> gaps = shortcut_gaps(A, ["background", "co-object"], pattern_weights([0.95, 0.95]))
    >>> {name: round(gap, 4) for name, gap in gaps.items()}
    {'background': -0.084, 'co-object': -0.184, 'background+co-object': -0.684}
    """
    whole = in_distribution(accuracies, weights)
    turned = turned if turned is not None else (False,) * len(cues)
    return {
        name: difference(accuracies.get(in_terms_of_labels(pattern, turned)), whole)
        for name, pattern in subsets_of(cues).items()
    }


def main_effect(accuracies: Accuracies, place: int) -> float | None:
    r"""What a cue is worth over all patterns of the other cues: the mean of what is lost where it alone goes against the label.

    .. math:: M_k = mean_q\, [A_{q, k = 1} - A_{q, k = 0}]

    A gap sees only the images on which all other cues are common, where a model may be right whatever cue k shows.

    >>> A = {"11": 1.0, "10": 1.0, "01": 0.8, "00": 0.3}
    >>> round(main_effect(A, 0), 3), round(main_effect(A, 1), 3)
    (0.45, 0.25)
    """
    lost = [
        difference(acc, accuracies.get(f"{pattern[:place]}0{pattern[place + 1 :]}"))
        for pattern, acc in accuracies.items()
        if pattern[place] == "1"
    ]
    return mean_of(lost)


def cue_preference(groups: Mapping[tuple[str, str], float | None], cues: Sequence[str]) -> dict[str, float | None]:
    r"""The share of predictions on the balanced test that agree with the label, and with the value of every cue.

    With two classes a wrong answer is the other class, so that group accuracies say it exactly:

    .. math:: P(\hat y = c_k) = mean_{y, p}\, [p_k A_{y,p} + (1 - p_k)(1 - A_{y,p})]

    ``groups``: accuracy by (class, pattern). With more than two classes only the label's share is known. 0.5 is no
    preference; a net that looks at nothing but cue k has 1 for it and 0.5 for the rest.

    >>> by_background = {(y, p): float(p[0]) for y in "01" for p in ("11", "10", "01", "00")}
    >>> cue_preference(by_background, ["background", "co-object"])
    {'label': 0.5, 'background': 1.0, 'co-object': 0.5}
    """
    labels = {label for label, _ in groups}
    shares = {"label": mean_of(list(groups.values()))}
    for place, cue in enumerate(cues):
        agree = [acc if acc is None or pattern[place] == "1" else 1 - acc for (_, pattern), acc in groups.items()]
        shares[cue] = mean_of(agree) if len(labels) == 2 else None
    return shares


def trade(shrinking: tuple[float | None, float | None], growing: tuple[float | None, float | None]) -> float | None:
    r"""How much of one cue's gap went over to another's: the smaller one of what the first lost and the second gained.

    .. math:: T_{i \to j} = \min(gap_i^{after} - gap_i^{before},\; gap_j^{before} - gap_j^{after})

    Both pairs are (before, after); gaps are negative where a cue is leaned on. T is above 0 only if one gap shrank and the
    other grew.

    >>> round(trade((-0.30, -0.10), (-0.05, -0.17)), 2)
    0.12
    """
    shrinkage = difference(shrinking[1], shrinking[0])
    growth = difference(growing[0], growing[1])
    return None if shrinkage is None or growth is None else min(shrinkage, growth)
