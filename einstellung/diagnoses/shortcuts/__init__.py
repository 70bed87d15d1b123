"""Several shortcuts at once, and the methods against them (Whac-A-Mole)."""

from einstellung.diagnoses.shortcuts.diagnosis import Shortcuts

diagnosis = Shortcuts

__all__ = ["diagnosis"]
