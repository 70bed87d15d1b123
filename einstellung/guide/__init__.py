"""The implementation guide's names, all in one place, as a thin layer over the package's own.

    from einstellung.guide import EinstellungMetricsCalculator, enable_einstellung_integration

Names are imported on first use, so that numbers can be scored without torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

#: CIFAR-100's superclasses by number: the first task, the second, and those of the second whose images have the patch.
T1_SUPERCLASSES = [0, 1, 2, 3, 4, 5, 6, 7]
T2_SUPERCLASSES = [8, 9, 10, 11]
SHORTCUT_SUPERCLASSES = [8, 9]

if TYPE_CHECKING:
    from einstellung.bridges.mammoth import get_einstellung_evaluator
    from einstellung.guide.attention import EinstellungAttentionAnalyzer
    from einstellung.guide.calculator import (
        EinstellungMetrics,
        EinstellungMetricsCalculator,
        calculate_cross_experiment_eri_statistics,
    )
    from einstellung.guide.evaluator import (
        EinstellungEvaluator,
        create_einstellung_evaluator,
        enable_einstellung_integration,
    )
    from einstellung.guide.files import write_guide_files
    from einstellung.guide.patch import MagentaPatchInjector
    from einstellung.guide.runner import EinstellungExperimentRunner

_PLACES = {
    "EinstellungAttentionAnalyzer": "einstellung.guide.attention",
    "EinstellungEvaluator": "einstellung.guide.evaluator",
    "EinstellungExperimentRunner": "einstellung.guide.runner",
    "EinstellungMetrics": "einstellung.guide.calculator",
    "EinstellungMetricsCalculator": "einstellung.guide.calculator",
    "MagentaPatchInjector": "einstellung.guide.patch",
    "calculate_cross_experiment_eri_statistics": "einstellung.guide.calculator",
    "create_einstellung_evaluator": "einstellung.guide.evaluator",
    "enable_einstellung_integration": "einstellung.guide.evaluator",
    "get_einstellung_evaluator": "einstellung.bridges.mammoth",
    "write_guide_files": "einstellung.guide.files",
}

__all__ = [
    "SHORTCUT_SUPERCLASSES",
    "T1_SUPERCLASSES",
    "T2_SUPERCLASSES",
    "EinstellungAttentionAnalyzer",
    "EinstellungEvaluator",
    "EinstellungExperimentRunner",
    "EinstellungMetrics",
    "EinstellungMetricsCalculator",
    "MagentaPatchInjector",
    "calculate_cross_experiment_eri_statistics",
    "create_einstellung_evaluator",
    "enable_einstellung_integration",
    "get_einstellung_evaluator",
    "write_guide_files",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
