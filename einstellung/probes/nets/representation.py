"""Representation drift: CKA of every layer, against the net after T1, against the baseline, and with the cue covered.

CKA ignores a shift that all images share, and a cue at a fixed place shifts all SC images alike. So the covered images are
compared twice: SC images alone, and among all test images of T2, where such a shift moves SC images away from the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from einstellung.metrics.similarity import similarity
from einstellung.probes.nets.subject import ProbedNet, Subject
from einstellung.results.probe_files import ALL_OF_T2, Change, SimilarityReading
from einstellung.timeline import NSC, SC_MASK, SC_PATCH, T1_ALL

Splits = tuple[str, ...]


def representation(subject: Subject) -> Iterator[SimilarityReading]:
    """The comparisons that the run has the nets and splits for."""
    net = subject.net
    if subject.first is not None:
        for split in (T1_ALL, SC_PATCH):
            yield from _compared("T1", split, subject.first, (split,), net, (split,))
    if subject.baseline is not None:
        yield from _compared("baseline", SC_PATCH, subject.baseline, (SC_PATCH,), net, (SC_PATCH,))
    yield from _compared("cue", SC_PATCH, net, (SC_PATCH,), net, (SC_MASK,))
    yield from _compared("cue", ALL_OF_T2, net, (SC_PATCH, NSC), net, (SC_MASK, NSC))


def _compared(
    change: Change, split: str, one: ProbedNet, before: Splits, other: ProbedNet, after: Splits
) -> Iterator[SimilarityReading]:
    if not {*before, *after} <= other.splits:
        return
    known = other.observed(after[0]).layers
    for layer in (layer for layer in one.observed(before[0]).layers if layer in known):
        found = similarity(one.gram(before, layer), other.gram(after, layer))
        yield SimilarityReading(change=change, split=split, layer=layer, value=found.value, ci95=found.ci95, n=found.n)
