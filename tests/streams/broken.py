"""Break a stream on purpose, and see which checks of its proof fail."""

from __future__ import annotations

from dataclasses import replace

from einstellung.streams import ImageSet, Stream, prove


def failed(stream: Stream) -> list[str]:
    return [check.name for check in prove(stream).checks if check.passed is False]


def with_train(stream: Stream, number: int, train: ImageSet) -> Stream:
    phases = list(stream.phases)
    phases[number] = replace(phases[number], train=train)
    return replace(stream, phases=tuple(phases))


def with_split(stream: Stream, name: str, images: ImageSet) -> Stream:
    splits = tuple(replace(split, images=images) if split.name == name else split for split in stream.splits)
    return replace(stream, splits=splits)
