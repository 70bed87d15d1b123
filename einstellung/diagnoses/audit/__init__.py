"""Unknown cues: is there a region, or a property of whole images, that decides the class of a model by itself?"""

from einstellung.diagnoses.audit.diagnosis import Audit

diagnosis = Audit

__all__ = ["diagnosis"]
