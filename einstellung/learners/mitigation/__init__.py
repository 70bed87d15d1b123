"""How a phase is learned so that no shortcut is taken: one short file per method, with what it must be told of the shortcut."""

from einstellung.learners.mitigation.erm import EmpiricalRiskMinimisation

__all__ = ["EmpiricalRiskMinimisation"]
