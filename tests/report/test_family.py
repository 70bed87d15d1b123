"""The page of several studies: links, warnings once, failed checks by study."""

from __future__ import annotations

import json

from einstellung.checks import Check
from einstellung.report.family import FamilyPage, Study, write_family_page
from einstellung.report.tables import Cell, Table

from .html_reader import HtmlReader

TABLE = Table("Numbers", "A note.", ("study", "PD"), ((Cell("one"), Cell("0.1")),), ({"study": "one", "PD": 0.1},))


def test_studies_stand_together_and_link_to_their_own_pages(tmp_path):
    made = FamilyPage(
        name="family",
        title="Two studies",
        kicker="Toy",
        answer=["They agree."],
        data={"agree": True},
        tables={"shown": TABLE, "only_written": TABLE},
        hidden=("only_written",),
        warnings=["three is waiting"],
        glossary=[("agree", "good", "say the same")],
    )
    studies = [
        Study("cue.size=2", [Check("seeds match", False, "<b>")], ["odd"], 3),
        Study("two & more", [Check("seeds match", True, "yes")], ["odd", "odder"], 2),
    ]
    path = write_family_page(tmp_path, made, studies)
    assert path == tmp_path / "family.html"
    reader = HtmlReader(path.read_text(encoding="utf-8"))
    assert reader.open == []
    assert reader.links == ["cue.size=2/report.html", "two%20%26%20more/report.html"]
    for words in (
        "They agree.",
        "cue.size=2: seeds match: <b>",
        "three is waiting",
        "cue.size=2 and two & more: odd",
        "two & more: odder",
        "The smallest number of seeds of a method is 2.",
        "agree say the same",
    ):
        assert words in reader.text, words
    assert reader.text.count("Numbers") == 1
    assert json.loads((tmp_path / "family.json").read_text()) == {"agree": True}
    assert (tmp_path / "tables" / "only_written.csv").exists()
