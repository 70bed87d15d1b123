"""What a study asks: one folder for each kind of diagnosis, behind one contract."""

from einstellung.diagnoses.registry import diagnoses

__all__ = ["diagnoses"]
