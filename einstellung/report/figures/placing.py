"""Labels of points that lie close together: each where it hides nothing, with a line to its point if it is far away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_RADII = (6.0, 12.0, 20.0, 30.0, 42.0, 56.0, 72.0, 90.0)
_ANGLES = tuple(math.radians(angle) for angle in (0, 180, 35, -35, 145, -145, 90, -90, 60, -60, 120, -120))
_RIM = 3.5  # half the side of the square that a point's mark takes up
_OVERLAP, _OUTSIDE, _FAR = 10.0, 60.0, 0.6


class Box(NamedTuple):
    """A rectangle: left, bottom, right, top."""

    left: float
    bottom: float
    right: float
    top: float

    def shared(self, other: Box) -> float:
        """The area that two boxes share."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)

    def outside(self, frame: Box) -> float:
        """How far the box sticks out of a frame, all sides together."""
        return (
            max(frame.left - self.left, 0.0)
            + max(self.right - frame.right, 0.0)
            + max(frame.bottom - self.bottom, 0.0)
            + max(self.top - frame.top, 0.0)
        )


def place_labels(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    frame: Box,
    taken: Sequence[Box] = (),
) -> list[Box]:
    """A box for the label of every point, all in the same unit (points of type): the cheapest of many places, one by one.

    Hiding a label or a mark costs most, leaving the frame next, distance least. Crowded points choose first. Equal input,
    equal places.

    >>> boxes = place_labels([(50, 50), (50, 50)], [(20, 8), (20, 8)], Box(0, 0, 100, 100))
    >>> boxes[0].shared(boxes[1])
    0.0
    """
    marks = [Box(x - _RIM, y - _RIM, x + _RIM, y + _RIM) for x, y in points]
    crowd = [sum(1 / (5 + math.dist(one, other)) for other in points) for one in points]
    placed: dict[int, Box] = {}
    for index in sorted(range(len(points)), key=lambda place: (-crowd[place], place)):
        hidden = [*marks, *taken, *placed.values()]
        placed[index] = min(
            _candidates(points[index], sizes[index]),
            key=lambda candidate: (
                _OVERLAP * sum(candidate[0].shared(box) for box in hidden)
                + _OUTSIDE * candidate[0].outside(frame)
                + _FAR * candidate[1]
            ),
        )[0]
    return [placed[index] for index in range(len(points))]


def _candidates(point: tuple[float, float], size: tuple[float, float]) -> list[tuple[Box, float]]:
    """Boxes around a point with their distance from it, the nearest first."""
    width, height = size
    found = []
    for radius in _RADII:
        for angle in _ANGLES:
            x, y = point[0] + radius * math.cos(angle), point[1] + radius * math.sin(angle)
            # the side of the box that looks at the point stands at (x, y)
            left = x if math.cos(angle) > 0.2 else x - width if math.cos(angle) < -0.2 else x - width / 2
            bottom = y if math.sin(angle) > 0.9 else y - height if math.sin(angle) < -0.9 else y - height / 2
            found.append((Box(left, bottom, left + width, bottom + height), radius))
    return found
