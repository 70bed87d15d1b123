"""Colours of methods on the page: visible on both grounds, and each of them once."""

from __future__ import annotations

from einstellung.report.colours import DARK_GROUND, LIGHT_GROUND, contrast, page_colours
from einstellung.report.figures.style import FAMILIAR, method_styles


def test_every_method_is_visible_on_both_grounds_in_a_colour_of_its_own():
    methods = [*FAMILIAR, *(f"m{number}" for number in range(100))]
    pairs = page_colours(method_styles(methods, "scratch_t2"))
    assert list(pairs) == methods
    for place, ground in enumerate((LIGHT_GROUND, DARK_GROUND)):
        colours = [pair[place] for pair in pairs.values()]
        assert len(set(colours)) == len(methods)
        assert min(contrast(colour, ground) for colour in colours) >= 3


def test_contrast_is_that_of_wcag():
    """Worked examples: black on white is 21, #767676 is the lightest grey that passes AA for text."""
    assert contrast("#FFFFFF", "#000000") == 21
    assert 4.5 <= contrast("#767676", "#FFFFFF") < contrast("#757575", "#FFFFFF")
    assert contrast("#777777", "#FFFFFF") < 4.5
