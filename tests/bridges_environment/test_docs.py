"""The recipes of the documentation run as they stand there, and `score` takes what they leave."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from einstellung.cli import main

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "method"), [("avalanche.md", "replay"), ("lightning.md", "finetune")])
def test_the_recipe_runs_and_is_scored(page, method, tmp_path, monkeypatch, capsys):
    text = (DOCS / page).read_text()
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    folder = re.search(r"^    einstellung score (\w+)$", text, re.MULTILINE)[1]
    monkeypatch.chdir(tmp_path)
    exec(compile(block.replace("size=16)", "size=16, train_per_class=6, test_per_class=2)"), page, "exec"), {})
    monkeypatch.setattr(sys, "argv", ["einstellung", "score", folder])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    assert method in capsys.readouterr().out
