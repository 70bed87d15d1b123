"""Mammoth, without changing its files: our streams as datasets, and an evaluator attached to its models.

    python -m einstellung.bridges.mammoth --mammoth FOLDER --seed 1 -- --model derpp --dataset seq-cifar100-einstellung ...

See docs/mammoth.md.
"""

from einstellung.bridges.mammoth.checkout import open_checkout
from einstellung.bridges.mammoth.datasets import DATASETS, register_datasets
from einstellung.bridges.mammoth.evaluator import MammothEvaluator
from einstellung.bridges.mammoth.integration import enable_einstellung_integration, get_einstellung_evaluator

__all__ = [
    "DATASETS",
    "MammothEvaluator",
    "enable_einstellung_integration",
    "get_einstellung_evaluator",
    "open_checkout",
    "register_datasets",
]
