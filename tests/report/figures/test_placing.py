"""Names beside points: in a crowd, none hides another."""

from __future__ import annotations

import numpy as np

from einstellung.report.figures.placing import Box, place_labels


def test_names_of_22_methods_in_a_crowd_hide_nothing():
    rng = np.random.default_rng(5)
    points = [tuple(point) for point in rng.normal((200, 150), (45, 35), (22, 2))]
    frame = Box(0, 0, 430, 300)
    boxes = place_labels(points, [(38.0, 8.5)] * 22, frame)
    hidden = sum(one.shared(other) for place, one in enumerate(boxes) for other in boxes[:place])
    marks = [Box(x - 3, y - 3, x + 3, y + 3) for x, y in points]
    covered = sum(box.shared(mark) for box in boxes for mark in marks)
    assert hidden == 0
    assert covered < 30  # of 22 marks with 36 square points each
    assert all(box.outside(frame) == 0 for box in boxes)
