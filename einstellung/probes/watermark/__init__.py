"""Does a classifier take a watermark for the thing it goes with? The published question (ImageNet-W), and its controls."""

from einstellung.probes.watermark.average import average
from einstellung.probes.watermark.conditions import CONTROLS
from einstellung.probes.watermark.evaluation import CARTON, evaluate

__all__ = ["CARTON", "CONTROLS", "average", "evaluate"]
