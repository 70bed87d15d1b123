"""Markup: escaped first, then decorated."""

from __future__ import annotations

from einstellung.report.markup import plain, symbols, typeset


def test_markup_escapes_before_it_decorates():
    assert str(symbols("SFR_rel <b>")) == "SFR<sub>rel</sub> &lt;b&gt;"
    assert str(typeset("AD = -5.0 <= -1, within +-0.02, t-test")) == "AD = −5.0 ≤ −1, within ±0.02, t-test"
    assert plain({"a": 1}) == "{'a': 1}"
