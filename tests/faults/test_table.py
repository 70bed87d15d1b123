"""What the documentation says of the campaign is what was counted."""

from __future__ import annotations

from tests.faults.campaign import COUNTS, Counts, Trial
from tests.faults.table import PAGE, section, table


def test_the_table_is_that_of_the_counts():
    assert section(PAGE.read_text(encoding="utf-8")).strip() == table(Counts.read(COUNTS)).strip()


def test_counts_add_up_over_campaigns(tmp_path):
    file = tmp_path / "counts.json"
    for number, trial in enumerate((Trial("a", {"kills": 5}), Trial("b", {"kills": 2, "twice": 1}, ("differs",)))):
        counts = Counts.read(file)
        counts.add("kills", number, trial)
        counts.write(file)
    found = Counts.read(file)
    assert (found.next("kills"), found.total("kills", "kills")) == (2, 7)
    assert "| 2 | 7 kills, 1 twice | 1,000 kills | 1 |" in table(found)
    assert "| kills under Ray | 0 | - | 100 kills | 0 |" in table(found)
