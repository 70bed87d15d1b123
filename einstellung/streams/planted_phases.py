"""Plant cues in any number of phases: the cue may come, go, return on other classes and change its place, colour or meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from einstellung.cues import Cue
from einstellung.streams.boxed import boxed_splits
from einstellung.streams.planted import as_trained, cue_splits, with_cue
from einstellung.streams.stream import EvaluationSplit, ImageSet, MaskedPair, Phase, Stream, TogglePlantedCue


@dataclass(frozen=True)
class PhaseImages:
    """The images of one phase before its cue is planted, and the head's labels of its classes.

    ``sc``: the cue's classes, which ``sc_test`` shows; of a phase without a ``cue`` they are like the others (``nsc``).
    """

    name: str
    train: ImageSet
    val: ImageSet
    sc_test: ImageSet
    nsc_test: ImageSet
    sc: tuple[int, ...]
    nsc: tuple[int, ...]
    cue: Cue | None

    @property
    def classes(self) -> tuple[int, ...]:
        return tuple(sorted({*self.sc, *self.nsc}))

    @property
    def shares(self) -> dict[int, float]:
        """The share of every class's images that training shows with the cue; classes without any are left out."""
        if self.cue is None:
            return {}
        others = dict.fromkeys(self.nsc, getattr(self.cue, "share_nsc", 0.0))
        return {label: share for label, share in (others | dict.fromkeys(self.sc, self.cue.share)).items() if share}


def planted_phases(
    name: str,
    phases: Sequence[PhaseImages],
    class_names: tuple[str, ...],
    cover_name: str,
    facts: Mapping[str, object],
    in_images: bool = False,
    **settings: Any,
) -> Stream:
    """The stream with every phase's own cue on its share of that phase's cue classes; ``in_images``: it is there already.

    Every phase has ``_all`` (its test images as training shows them) and ``_val``; a phase with a cue also has the splits of
    the two-phase protocol. ``settings`` are the other fields of a Stream.
    """
    with_own = {one.name: one.cue for one in phases if one.cue is not None}
    splits = [split for one in phases for split in _splits(one, cover_name, in_images)]
    names = {split.name for split in splits}
    flat = [one for one in with_own if f"{one}_shortcut_elsewhere" not in names]
    all_facts = {**facts, "phases": {one.name: describe(one, class_names) for one in phases}}
    if flat and not in_images:
        all_facts["cue_elsewhere"] = (
            f"not measured in {', '.join(flat)}: a cue of this size cannot be displaced without overlap"
        )
    return Stream(
        name=name,
        phases=tuple(
            Phase(
                one.name,
                one.classes,
                one.sc if one.cue is not None else (),
                one.train if in_images else with_cue(one.train, one.shares),
                ("cue",) if one.cue is not None else (),
            )
            for one in phases
        ),
        splits=tuple(splits),
        pairs=tuple(pair for one in with_own for pair in _pairs(one, names, in_images)),
        cue=list(with_own.values())[-1],
        cover=cover_name,
        n_outputs=len(class_names),
        class_names=class_names,
        facts=all_facts,
        cue_names=("cue",),
        interventions={} if in_images else {"cue": TogglePlantedCue()},
        phase_cues=with_own,
        **settings,
    )


def _splits(phase: PhaseImages, cover_name: str, in_images: bool) -> list[EvaluationSplit]:
    tested = ImageSet.joined([phase.sc_test, phase.nsc_test])
    if phase.cue is None:
        return [
            EvaluationSplit(f"{phase.name}_all", phase.name, tested),
            EvaluationSplit(f"{phase.name}_val", phase.name, phase.val, held_out=True),
        ]
    if in_images:
        own = boxed_splits(phase.name, phase.cue, cover_name, phase.val, phase.sc_test, phase.nsc_test)
        return [EvaluationSplit(f"{phase.name}_all", phase.name, tested), *own]
    shown = as_trained(with_cue(tested, phase.shares), phase.cue)
    val = with_cue(phase.val, phase.shares)
    return [
        EvaluationSplit(f"{phase.name}_all", phase.name, shown),
        *cue_splits(phase.name, phase.cue, cover_name, val, phase.sc_test, phase.nsc_test),
    ]


def _pairs(phase: str, names: set[str], in_images: bool) -> list[MaskedPair]:
    if in_images:
        normal = f"{phase}_shortcut_normal"
        return [MaskedPair(normal, normal, f"{phase}_shortcut_masked")]
    elsewhere = f"{phase}_shortcut_elsewhere"
    return [
        MaskedPair(
            f"{phase}_shortcut_clean",
            f"{phase}_shortcut_normal",
            f"{phase}_shortcut_masked",
            elsewhere if elsewhere in names else None,
        ),
        MaskedPair(f"{phase}_nonshortcut_normal", f"{phase}_nonshortcut_patched"),
    ]


def describe(phase: PhaseImages, class_names: Sequence[str]) -> dict[str, object]:
    """The facts of a phase that a reader needs next to its numbers: its levels of chance, its cue and who has it."""
    cue = phase.cue
    found: dict[str, object] = {
        "classes": [class_names[label] for label in (*phase.sc, *phase.nsc)],
        "chance_task": 1 / len(phase.classes),
        "cue": None if cue is None else repr(cue),
    }
    if cue is not None:
        tells = cue.share > getattr(cue, "share_nsc", 0.0)
        found |= {
            "cue_classes": [class_names[label] for label in phase.sc],
            "cue_alone": 1 / len(phase.sc if tells else phase.classes),
        }
    return found
