"""What tests of several shortcuts share: one report (it takes seconds), and reports without figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from einstellung.diagnoses.reporting import Scored
from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.diagnosis import Shortcuts

from .reports import PROOF, paper_config, save_as_svg, write_page, write_samples
from .timelines import PAPERLIKE, study


@dataclass(frozen=True)
class Written:
    """A report on disk and what it was made from."""

    folder: Path
    scored: Scored
    html: str

    @property
    def card(self) -> ShortcutsCard:
        assert isinstance(self.scored.card, ShortcutsCard)
        return self.scored.card


@pytest.fixture(scope="session")
def written(tmp_path_factory) -> Written:
    folder = tmp_path_factory.mktemp("several")
    write_samples(folder / "samples.npz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("einstellung.report.figures.plan.save", save_as_svg)
        scored, html = write_page(
            folder,
            study(PAPERLIKE, spread=0.004, twins=True),
            (0.95, 0.95),
            proof=PROOF,
            provenance={"command": "einstellung run"},
            config=paper_config(name="several", training={"batch_size": 64}),
            title="A & B <several>",
        )
    return Written(folder, scored, html)


@pytest.fixture
def quick(monkeypatch):
    """Figures are not what is looked at here."""
    monkeypatch.setattr(Shortcuts, "figures", lambda *inputs: ())
    monkeypatch.setattr("einstellung.report.figures.plan.save", lambda figure, folder, name: {"svg": b"<svg/>"})
