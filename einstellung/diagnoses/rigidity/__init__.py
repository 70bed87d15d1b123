"""The Einstellung Rigidity Index."""

from einstellung.diagnoses.rigidity.diagnosis import Rigidity

diagnosis = Rigidity

__all__ = ["diagnosis"]
