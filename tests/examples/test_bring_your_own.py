"""The page's own code blocks, run as they stand, and its YAML as configurations that are accepted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from einstellung.options import checked_options
from einstellung.results.config import build_config
from einstellung.streams import streams
from einstellung.timeline import Timeline

pytestmark = pytest.mark.usefixtures("own_names")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/bring-your-own.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_own_loop(tmp_path):
    inputs, labels = torch.randn(12, 4), torch.arange(12) % 4
    loader = DataLoader(TensorDataset(inputs, labels), batch_size=5)
    given = {"t1_loader": loader, "t2_loader": loader, "model": nn.Linear(4, 4), "splits": {"T1_all": (inputs, labels)}}
    exec(blocks("python")[0], {**given, "train_one_epoch": lambda model, loader: None})
    timeline = Timeline.read(tmp_path / "my_logs/my-method-seed1/timeline.csv")
    assert timeline.curve("my-method", 1, "T2", "T1_all")[0].tolist() == [0, 1, 2, 3]


class OwnAttention(nn.Module):
    """Single-headed attention that no adapter of ours knows."""

    def __init__(self) -> None:
        super().__init__()
        self.both = nn.Linear(6, 12)

    def project(self, tokens: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.both(tokens).unsqueeze(1).chunk(2, dim=-1)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        query, key = self.project(tokens)
        return (query @ key.transpose(-1, -2) / 6**0.5).softmax(dim=-1)[:, 0] @ tokens


class OwnViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 6))
        self.patches = nn.Conv2d(3, 6, 8, stride=8)
        self.blocks = nn.ModuleList(nn.ModuleDict({"attention": OwnAttention()}) for _ in range(2))
        for block in self.blocks:
            block.attention = block["attention"]

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls_token.expand(len(images), -1, -1), tokens], dim=1)
        for block in self.blocks:
            tokens = tokens + block.attention(tokens)
        return tokens[:, 0]


def test_own_attention():
    known: dict[str, object] = {"my_vit": OwnViT()}
    exec(blocks("python")[1], known)
    assert known["maps"].heads.shape == (2, 2, 1, 4, 4)
    assert torch.allclose(known["maps"].rollout.sum(dim=(1, 2)), torch.ones(2))


def test_own_logs(tmp_path, capsys):
    lines = ["method,seed,phase,epoch,dataset,accuracy"]
    for method, lead in (("scratch_t2", 0), ("mine", 1)):
        for epoch in range(6):
            for split, level in (("T2_shortcut_normal", 0.16), ("T2_shortcut_masked", 0.1)):
                lines.append(f"{method},1,T2,{epoch},{split},{level * min(5, epoch + lead * (epoch > 0)):.2f}")
    (tmp_path / "my_table.csv").write_text("\n".join(lines))
    exec(blocks("python")[2], {})
    assert capsys.readouterr().out.startswith("Shared shortcut: mine relies on the cue (Delta = +0.300")
    assert Timeline.read(tmp_path / "timeline.csv").methods == ("scratch_t2", "mine")


@pytest.mark.parametrize("text", blocks("yaml"))
def test_yaml_is_accepted(text):
    config = build_config(yaml.safe_load(text))
    if config.stream.name == "folder":
        checked = checked_options(streams["folder"], "stream", config.stream.options, taken=("cue", "cover"))
        defaults = checked_options(streams["folder"], "stream", {}, taken=("cue", "cover"))
        assert {**checked, "path": "", "shortcut": ()} == defaults  # the page shows the defaults
        assert set(config.stream.options) == set(defaults) - {"phases"}  # a page of their own: more than two phases
    for plugin in config.plugins:
        assert (ROOT / "examples" / plugin.file).is_file()


def test_every_file_that_the_page_names_is_there():
    for name in set(re.findall(r"(?:examples|einstellung)/[\w/]+\.(?:py|yaml)", PAGE)):
        assert (ROOT / name).is_file(), name
