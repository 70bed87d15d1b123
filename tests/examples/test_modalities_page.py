"""docs/modalities.md and the part of docs/extend.md about texts and series: what they name is there, and the code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from einstellung.backbones.registry import backbone_options
from einstellung.cues import covers_for, cues, cues_for
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.modalities import MODALITIES
from einstellung.options import checked_options
from einstellung.results.config import build_config, preset_names
from einstellung.streams import prove, streams
from einstellung.streams.stream import modality_of

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "modalities.md").read_text(encoding="utf-8")
EXTEND = (DOCS / "extend.md").read_text(encoding="utf-8").partition("## Texts and series")[2]


def row(kind: str) -> list[set[str]]:
    """The names for texts and for series in the table of parts."""
    (line,) = re.findall(rf"^\| {kind} \|(.*)\|$", PAGE, flags=re.MULTILINE)
    return [set(re.findall(r"`(\w+)`", cell)) for cell in line.split("|")]


@pytest.mark.parametrize(("place", "modality"), [(0, "text"), (1, "series")])
def test_the_table_names_all_parts(place, modality):
    assert row("cues")[place] == set(cues_for(modality))
    assert row("covers")[place] == set(covers_for(modality))
    there = {name for name in streams if modality_of(name).name == modality and not name.endswith("_arrays")}
    assert row("streams")[place] == there
    kind = MODALITIES[modality]
    assert row("defaults")[place] == {kind.default_cue, kind.default_cover, kind.default_backbone}
    for name in row("backbones")[place]:
        backbone_options(name, {})


def test_every_cue_has_an_example_that_works():
    examples = dict(re.findall(r"^\| `(\w+)` \| `(\{.*?\})` \|", PAGE, flags=re.MULTILINE))
    assert set(examples) == {*cues_for("text"), *cues_for("series")}
    for name, options in examples.items():
        cues[name](**checked_options(cues[name], "cue", yaml.safe_load(options)))


def test_the_configuration_and_the_presets():
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    config = resolve(build_config(yaml.safe_load(block)))
    assert config.cue.options["share"] == 0.8
    assert set(re.findall(r"`(\w+-(?:quick|natural))`", PAGE)) <= set(preset_names())


def test_own_cues_covers_and_streams(own_names):
    (block,) = re.findall(r"```python\n(.*?)```", EXTEND, flags=re.DOTALL)
    exec(compile(block, "docs/extend.md", "exec", dont_inherit=True), {"__name__": __name__})
    config = resolve(build_config({"stream": {"name": "calm"}, "cue": {"name": "ramp"}, "cover": "zero"}))
    proof = prove(build_stream(config))
    assert [check.name for check in proof.checks if check.passed is not True] == []
