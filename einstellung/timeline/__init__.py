"""The timeline: the table that training produces and every diagnosis reads."""

from einstellung.timeline.importing.options import ImportOptions
from einstellung.timeline.schema import (
    COLUMNS,
    HABIT_MASK,
    HABIT_PATCH,
    KNOWN_SPLITS,
    NSC,
    NSC_PATCHED,
    OPTIONAL_COLUMNS,
    SC_CLEAN,
    SC_ELSEWHERE,
    SC_MASK,
    SC_PATCH,
    T1_ALL,
    VAL,
)
from einstellung.timeline.table import Curve, Run, Timeline

__all__ = [
    "COLUMNS",
    "HABIT_MASK",
    "HABIT_PATCH",
    "KNOWN_SPLITS",
    "NSC",
    "NSC_PATCHED",
    "OPTIONAL_COLUMNS",
    "SC_CLEAN",
    "SC_ELSEWHERE",
    "SC_MASK",
    "SC_PATCH",
    "T1_ALL",
    "VAL",
    "Curve",
    "ImportOptions",
    "Run",
    "Timeline",
]
