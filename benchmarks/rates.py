"""Workloads over images, and their throughput in images per core-second."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from benchmarks.measuring import Spread, in_turn, own_core_seconds, ratios
from benchmarks.peers.process import Peer, PeerError


@dataclass(frozen=True)
class Work:
    """So many images at a time."""

    images: int
    do: Callable[[], object]


@dataclass
class Rates:
    """Of each work the images it goes through at a time, and the core-seconds that took, one value a repeat.

    ``lost``: peers that ended early, with the reason; their results are dropped.
    """

    images: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    lost: dict[Peer, str] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.seconds

    def of(self, name: str) -> Spread:
        """Images per core-second.

        >>> Rates({"step": 32}, {"step": [2.0, 1.0, 4.0]}).of("step").words(0)
        '16 (8 to 32, 3 times)'
        """
        return Spread.of([self.images[name] / one for one in self.seconds[name]])

    def over(self, name: str, other: str) -> Spread:
        """How many times as many images per core-second as ``other``, repeat by repeat.

        >>> Rates({"ours": 32, "theirs": 16}, {"ours": [1.0, 2.0], "theirs": [1.0, 1.0]}).over("ours", "theirs").words(1)
        '1.5 (1.0 to 2.0, 2 times)'
        """
        ours, theirs = ([one / self.images[work] for one in self.seconds[work]] for work in (name, other))
        return ratios(theirs, ours)


def warm(works: Mapping[str, Work]) -> None:
    """Run each once as a warm-up: the first calls select and compile kernels."""
    for work in works.values():
        work.do()


def measured(works: Mapping[str, Work], asked: Mapping[str, tuple[Peer, str]], repeats: int) -> Rates:
    """Our workloads and those of the peers, alternating. If a peer ends early, only its own results are lost.

    Each runs once right before it is measured, for us and for the peers.
    """
    rates = Rates({name: work.images for name, work in works.items()})

    def clock(work: Work) -> float:
        work.do()
        return own_core_seconds(work.do)

    clocks: dict[str, Callable[[], float]] = {name: partial(clock, work) for name, work in works.items()}

    def ask(name: str, peer: Peer, work: str) -> float:
        if peer in rates.lost:
            return math.nan
        try:
            done = peer.do(work)
        except PeerError as error:
            rates.lost[peer] = str(error)
            return math.nan
        rates.images[name] = done.images
        return done.core_seconds

    clocks |= {name: partial(ask, name, *whom) for name, whom in asked.items()}
    rates.seconds = in_turn(clocks, repeats)
    for name in (name for name, (peer, _) in asked.items() if peer in rates.lost):
        del rates.seconds[name]
        rates.images.pop(name, None)
    return rates
