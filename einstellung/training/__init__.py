"""The loop, the evaluator, precision, checkpoints."""

from einstellung.training.evaluator import Evaluator, Measurement
from einstellung.training.loop import LoopSettings, PhaseLoop
from einstellung.training.precision import Precision

__all__ = ["Evaluator", "LoopSettings", "Measurement", "PhaseLoop", "Precision"]
