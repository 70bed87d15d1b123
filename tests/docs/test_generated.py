"""The generated sections: complete, and readable as Markdown; and repository files as pages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import click
import pytest
import yaml

from einstellung.cli.main import cli
from einstellung.experiments.catalogue import catalogue as registered

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "docs/tools"


@pytest.fixture
def tools(monkeypatch):
    """The modules of the site, imported as mkdocs does: by file."""
    monkeypatch.syspath_prepend(str(TOOLS))

    def load(name: str):
        monkeypatch.delitem(sys.modules, name, raising=False)
        spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


def rows(section: str) -> list[list[str]]:
    """Cells of every table row, without the heading's line."""
    lines = [line for line in section.splitlines() if line.startswith("|") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.replace("\\|", "¦").strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(
    "kind", ["learners", "streams", "cues", "covers", "backbones", "presets", "diagnoses", "launchers"]
)
def test_the_catalogue_has_every_entry_and_its_defaults(tools, kind):
    section = tools("catalogue").catalogue_section(kind)
    for entry in registered(kind):
        text = section.partition(f"### `{entry['name']}` ")[2].partition("\n### ")[0]
        assert entry["summary"].split("|")[0].split("<")[0] in text
        shown = {row[0].strip("`"): row[1].strip("`") for row in rows(text)[1:]}
        assert set(shown) == set(entry["options"])
        for name, value in entry["options"].items():
            read = yaml.safe_load(shown[name])
            nested = kind == "streams" and name == "phases" and value is not None
            assert read == (list(map(list, value)) if nested else _listed(value)), name


def _listed(value):
    return list(value) if isinstance(value, tuple) else value


def test_the_page_asks_for_every_kind(tools):
    module = tools("catalogue")
    page = (ROOT / "docs/catalogue.md").read_text(encoding="utf-8")
    assert {kind for kind in module.KINDS if f"<!-- catalogue: {kind} -->" in page} == set(module.KINDS)
    assert "<!--" not in module.filled(page, ROOT)


def test_every_command_and_option_is_shown(tools):
    section = tools("commands").commands_section()
    shown = {row[0] for row in rows(section)}

    def compare(command: click.Command, path: str) -> None:
        if command.hidden:
            assert f"# {path}\n" not in section
            return
        assert f"# {path}\n" in section
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden and option.help:
                assert any(option.opts[-1] in cell for cell in shown), f"{path} {option.opts[-1]}"
        for name, below in getattr(command, "commands", {}).items():
            compare(below, f"{path} {name}")

    for name, command in cli.commands.items():
        compare(command, f"einstellung {name}")
    assert all(len(row) == 2 for row in rows(section))


def test_public_python_names_are_documented_where_they_are_defined(tools):
    section = tools("catalogue").python_section()
    assert "heading: einstellung.audit" in section
    assert "::: einstellung." in section


def test_links_into_the_repository(tools):
    module = tools("repository")
    text = "[a](../studies/concon/) [b](../examples/own_cue.py) [c](audit.md#verdicts) [d](https://x.org/a.md)\n"
    assert module.rewritten(text, "metrics.md") == (
        "[a](repository/studies/concon/README.md) [b](repository/examples/own_cue.py.md) [c](audit.md#verdicts) [d](https://x.org/a.md)\n"
    )
    back = module.rewritten("[m](../../docs/metrics.md#patterns)", "repository/studies/concon/README.md")
    assert back == "[m](../../../metrics.md#patterns)"
    assert list(module.links(text, "metrics.md")) == [
        "studies/concon/README.md",
        "examples/own_cue.py",
        "docs/audit.md",
    ]


def test_code_is_not_rewritten(tools):
    text = "```\n[a](../studies/concon/)\n```\n"
    assert tools("repository").rewritten(text, "metrics.md") == text


def test_a_notebook_becomes_a_page(tools):
    cells = [
        {"cell_type": "markdown", "source": ["# Mine\n", "Text."]},
        {
            "cell_type": "code",
            "source": ["1 + 1"],
            "outputs": [{"output_type": "execute_result", "data": {"text/plain": ["2"]}}],
        },
        {
            "cell_type": "code",
            "source": ["show()"],
            "outputs": [{"output_type": "display_data", "data": {"text/html": ["<b>x</b>"], "text/plain": ["y"]}}],
        },
    ]
    text = tools("repository").notebook_text({"cells": cells})
    assert text.startswith("# Mine\nText.\n\n```python\n1 + 1\n```\n\n```text\n2\n```\n\n```python\nshow()\n```")
    assert "<b>x</b>" in text
    assert "y" not in text.partition("show()")[2]


def test_the_figures_show_what_the_score_says(tools, tmp_path, monkeypatch):
    """Drawn from the smallest results that have what the figures need; the numbers in them are those of the score."""
    import json

    import numpy as np

    module = tools("figures")
    study = tmp_path / "cue.habit=same"
    study.mkdir()
    values = {"scratch_t2": (0.7, 0.3, 4), "gpm": (0.9, 0.2, 2)}
    methods, lines = {}, ["method,seed,phase,epoch,split,acc"]
    for method, (patched, masked, reached) in values.items():
        seed = {"SC_patch": patched, "SC_mask": masked, "E": reached, "delta": patched - masked, "AD": -2, "PD": -0.2}
        methods[method] = {name: {"mean": seed[name]} for name in ("SC_patch", "SC_mask")}
        methods[method] |= {"SC_clean": {"mean": 0.25}, "per_seed": {str(module.SEED): seed}}
        for epoch in range(21):
            lines.append(f"{method},{module.SEED},T2,{epoch},T2_shortcut_normal,{patched * epoch / 20}")
            lines.append(f"{method},{module.SEED},T2,{epoch},T2_shortcut_masked,{masked * epoch / 20}")
    (study / "score.json").write_text(json.dumps({"methods": methods, "tau": 0.6, "window": 3}))
    (study / "timeline.csv").write_text("\n".join(lines))
    image = np.zeros((1, 4, 4, 3), dtype=np.uint8)
    np.savez(study / "samples.npz", original=image, patched=image, masked=image)
    monkeypatch.setattr(module, "IMAGES", tmp_path)
    texts = []
    monkeypatch.setattr(module, "_save", lambda figure, name: texts.append((name, words(figure))))
    module.main(tmp_path)
    assert [name for name, _ in texts] == ["cue-light", "facets-light", "cue-dark", "facets-dark"]
    assert {"70 %", "90 %", "30 %", "20 %", "25 %"} <= texts[0][1]
    assert {"AD −2 epochs", "PD\n−0.20", "Δ\n+0.40", "Δ\n+0.70"} <= texts[1][1]


def words(figure) -> set[str]:
    return {text.get_text() for axes in figure.axes for text in axes.texts}
