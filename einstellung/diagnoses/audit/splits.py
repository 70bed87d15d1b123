"""The splits of an audit's timeline: images as they are, and with the box of a finding covered.

``audit_normal``: all audited images; ``audit_normal_class3``: those of class 3; ``audit_covered_class3_1``: the same images with
the box of the model's first finding in black. Findings are numbered from 1, suspicions after them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from einstellung.results.audit_files import COVERED_SPLIT, NORMAL_SPLIT

_NAMES = re.compile(rf"(?:{NORMAL_SPLIT}(?:_class(\d+))?|{COVERED_SPLIT}_class(\d+)_(\d+))")


def is_audit(splits: Iterable[str]) -> bool:
    """Whether these splits were measured by an audit.

    >>> is_audit(["audit_normal", "audit_normal_class3"]), is_audit(["T1_all"])
    (True, False)
    """
    return NORMAL_SPLIT in splits


def describe_split(split: str) -> str | None:
    """What a split holds, in words; None for an unknown name.

    >>> describe_split("audit_covered_class3_1"), describe_split("audit_covered")
    ('images of class 3, the box of finding 1 of the same model in black', None)
    """
    if (match := _NAMES.fullmatch(split)) is None:
        return None
    if match[2]:
        return f"images of class {match[2]}, the box of finding {match[3]} of the same model in black"
    return f"images of class {match[1]} as they are" if match[1] else "all audited images as they are"


def split_order(split: str) -> tuple[int, int]:
    """What splits are sorted by: all images, then class by class, each before its covered ones.

    >>> sorted(["audit_covered_class3_1", "mine", "audit_normal_class12", "audit_normal_class3", "audit_normal"], key=split_order)
    ['audit_normal', 'audit_normal_class3', 'audit_covered_class3_1', 'audit_normal_class12', 'mine']
    """
    if (match := _NAMES.fullmatch(split)) is None:
        return (10**9, 0)
    label = match[1] or match[2]
    return (int(label) if label else -1, int(match[3] or 0))
