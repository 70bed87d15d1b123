"""The canvas: labels apart, no global state, the same bytes every time."""

from __future__ import annotations

import itertools
import sys

from einstellung.report.figures.canvas import FORMATS, drawing, new_figure, render, save, spread


def test_labels_never_touch_and_stay_in_order():
    places = spread([0.0, 0.01, 0.02, 0.5, 0.98, 1.0], 0.1)
    assert all(later - earlier > 0.1 - 1e-9 for earlier, later in itertools.pairwise(places))
    assert min(places) >= 0
    assert max(places) <= 1 + 1e-9


def drawn():
    figure = new_figure(3, 2)
    figure.subplots().plot([0, 1], [0, 1], label="a_$b$")
    return figure


def test_equal_input_gives_equal_bytes_in_every_format(tmp_path):
    with drawing():
        one, other = ([render(drawn(), kind) for kind in FORMATS] for _ in range(2))
        files = save(drawn(), tmp_path, "line")
    assert one == other
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        f"line.{kind}": content for kind, content in files.items()
    }


def test_no_global_figure_state_is_touched():
    with drawing():
        render(drawn(), "svg")
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
