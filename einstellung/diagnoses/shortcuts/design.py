"""What the groups of a study are: its classes, cues and phases, the correlations of every phase, and what they make common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from einstellung.diagnoses.shortcuts.card import AGAINST_LABEL, NEITHER, WITH_LABEL
from einstellung.diagnoses.shortcuts.estimates import Weighting
from einstellung.diagnoses.shortcuts.gaps import (
    EQUAL,
    Turned,
    checked_weights,
    in_terms_of_labels,
    pattern_weights,
    turned_cues,
)
from einstellung.diagnoses.shortcuts.settings import Correlations, correlations_by_phase
from einstellung.diagnoses.shortcuts.splits import (
    GROUP,
    are_shortcuts,
    default_cues,
    group_split,
    labels_and_width,
    patterns_of,
    phases_of,
)
from einstellung.errors import InputError
from einstellung.timeline import Timeline

NO_CORRELATION = 0.5
GIVEN = "given"
Weights = Mapping[str, float]


@dataclass(frozen=True)
class Design:
    """``correlations`` and ``weights`` of the patterns: by phase, where they are known; ``fixed``: the same for all phases."""

    labels: tuple[str, ...]
    cues: tuple[str, ...]
    phases: tuple[str, ...]
    correlations: Mapping[str, tuple[float, ...]]
    weights: Mapping[str, Weights | None]
    fixed: Weights | None
    fixed_source: str

    @property
    def patterns(self) -> tuple[str, ...]:
        return patterns_of(len(self.cues))

    @property
    def groups(self) -> list[tuple[str, str]]:
        """Every (class, pattern)."""
        return [(label, pattern) for label in self.labels for pattern in self.patterns]

    @property
    def last(self) -> str:
        """The last phase."""
        return self.phases[-1]

    def splits(self, kind: str = GROUP) -> list[str]:
        """The names of the splits of all groups."""
        return [group_split(label, pattern, kind) for label, pattern in self.groups]

    def turned_in(self, phase: str, weighting: Weighting) -> Turned:
        """The cues whose common value is the one against the label: in the phase itself or, with fixed weights, in those.

        ``common`` knows no phase, so that gaps of different phases can be compared by it.
        """
        weights = self.fixed if weighting == "fixed" else self.weights.get(phase)
        return (False,) * len(self.cues) if weighting == "common" or weights is None else turned_cues(weights)

    def weights_for(self, phase: str, weighting: Weighting, turned: Turned) -> Weights | None:
        """The weights of the patterns: the phase's own, those that all phases share, or all weight on one pattern.

        With the weights of a phase, one cue's gap depends on the others': where these grow, accuracy on the whole falls, and
        the gap seems to shrink. Measured from the pattern in which all are common, a gap is of its own cues alone, whatever
        the correlations are.
        """
        if weighting in ("common", "alone"):
            all_common = in_terms_of_labels("1" * len(self.cues), turned)
            return {pattern: float(pattern == all_common) for pattern in self.patterns}
        return self.weights.get(phase) if weighting == "own" else self.fixed

    def correlation_left(self, place: int) -> dict[str, str]:
        """See :func:`correlation_left`."""
        return correlation_left(self.correlations, self.phases, place)


def make_design(
    timeline: Timeline,
    cues: Sequence[str] | None = None,
    correlations: Correlations | None = None,
    weights: Mapping[str, float] | None = None,
) -> Design:
    """The design that a timeline's splits show, with the names and shares that they do not."""
    if not are_shortcuts(timeline.splits):
        raise InputError("no groups with several shortcuts in the timeline: expected splits such as group_0_11")
    labels, widths = labels_and_width(timeline.splits)
    if len(widths) > 1:
        raise InputError(
            f"the groups have patterns of {' and '.join(map(str, widths))} digits: every group needs one digit per cue"
        )
    (width,) = widths
    names = _checked_cues(tuple(cues) if cues else default_cues(timeline.splits, width), width)
    phases = phases_of(timeline)
    known = correlations_by_phase(correlations, phases, width)
    of_phase: dict[str, Weights | None] = {
        phase: pattern_weights(known[phase]) if phase in known else None for phase in phases
    }
    if weights is not None:
        return Design(labels, names, phases, known, of_phase, checked_weights(weights, width), GIVEN)
    return Design(labels, names, phases, known, of_phase, of_phase[phases[0]], phases[0])


def _checked_cues(names: tuple[str, ...], width: int) -> tuple[str, ...]:
    if odd := [name for name in names if not name.strip() or "+" in name or " -> " in name]:
        raise InputError(
            f"'{odd[0]}' cannot be a cue name: '+' and ' -> ' join cues in the names of gaps; choose another name"
        )
    if len(names) != width or len(set(names)) != width:
        raise InputError(
            f"{len(names)} names of cues ({', '.join(names)}) for groups with {width} digits: one name for each is needed"
        )
    return names


def common_values(cues: Sequence[str], correlations: Sequence[float]) -> dict[str, str]:
    """What is common of every cue in a phase's training images.

    >>> common_values(["background", "co-object", "watermark"], [0.95, 0.05, 0.5])
    {'background': 'with the label', 'co-object': 'against the label', 'watermark': 'neither'}
    """
    words = {True: WITH_LABEL, False: AGAINST_LABEL}
    return {
        cue: NEITHER if abs(rho - NO_CORRELATION) <= EQUAL else words[rho > NO_CORRELATION]
        for cue, rho in zip(cues, correlations, strict=True)
    }


def correlation_left(correlations: Mapping[str, Sequence[float]], phases: Sequence[str], place: int) -> dict[str, str]:
    """Phases in which a cue has no correlation with the label, and the last phase before each in which it had one.

    >>> correlation_left({"T1": [0.95, 0.5], "T2": [0.5, 0.95], "T3": [0.5, 0.5]}, ["T1", "T2", "T3"], 0)
    {'T2': 'T1', 'T3': 'T1'}
    """
    found = {}
    had: str | None = None
    for phase in phases:
        if phase not in correlations:
            continue
        if abs(correlations[phase][place] - NO_CORRELATION) > EQUAL:
            had = phase
        elif had is not None:
            found[phase] = had
    return found
