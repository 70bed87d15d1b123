"""``concon logic`` on the terminal and as JSON."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from einstellung.cli.concon_logic import logic
from einstellung.errors import InputError
from einstellung.scenes.rules import PAPER_RULES, rules_digest


def typed(*words: str) -> str:
    done = CliRunner().invoke(logic, list(words), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_json_holds_everything():
    record = json.loads(typed("--json"))
    assert record["rules"] == PAPER_RULES.to_dict()
    assert record["rules_digest"] == rules_digest(PAPER_RULES)
    assert record["scenes"] == 96**4
    for variant, joint in (("strict", False), ("disjoint", True)):
        found = record["variants"][variant]
        by_formula = {one["formula"]: one for one in found["predicates"]}
        assert by_formula["c1 or c2 or c3"]["joint"]["solves"] is joint
        assert by_formula["c1"]["unconfounded"]["positive"] == pytest.approx(1 - (7 / 8) ** 4)
        assert len(found["left_open_after"]) == 3
        assert len(found["sentences"]) == 5


def test_the_table_says_what_is_solved(tmp_path):
    spoken = typed()
    assert "g  = sphere and small cube" in spoken
    assert "blue or metal or large" in spoken
    assert spoken.count("solved") > 20
    assert "84,934,656 scenes of 4 objects" in spoken
    rules = tmp_path / "rules.yaml"
    rules.write_text("ground_truth: [{shape: cube}]\nconfounders: [[{color: red}], [{color: red, size: small}]]\n")
    assert "The disjoint sets cannot be made" in " ".join(typed(str(rules)).split())


def test_a_wrong_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no such file of rules"):
        CliRunner().invoke(logic, [str(tmp_path / "none.json")], catch_exceptions=False)
