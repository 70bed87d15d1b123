"""Does a classifier rely on a watermark that is correlated with a class? ImageNet-W, with controls."""

from einstellung.probes.watermark.conditions import CONTROLS
from einstellung.probes.watermark.evaluation import CARTON, average, evaluate

__all__ = ["CARTON", "CONTROLS", "average", "evaluate"]
