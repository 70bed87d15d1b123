"""What the Whac-A-Mole paper reports for last layers on a frozen ResNet-50, from ``last_layer_published.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from einstellung.yaml_text import read_yaml


class PublishedLastLayers(BaseModel):
    """The paper's table in per cent and points, the model it is of, and how its protocol differs from ours."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    model: str
    differences: str
    table: Mapping[str, Mapping[str, float]]


@cache
def published() -> PublishedLastLayers:
    return PublishedLastLayers.model_validate(read_yaml(Path(__file__).with_suffix(".yaml")))


def reported_for(model: str, method: str) -> dict[str, float] | None:
    """The paper's numbers of a method, as shares; None for another model or method.

    >>> reported_for("timm:resnet50.tv_in1k", "lle")["watermark_gap"], reported_for("efficientnet-lite0", "lle")
    (-0.0618, None)
    """
    paper = published()
    if model != paper.model or method not in paper.table:
        return None
    return {key: round(value / 100, 6) for key, value in paper.table[method].items()}
