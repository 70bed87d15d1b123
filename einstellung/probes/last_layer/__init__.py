"""Retrain the last layer of a frozen net: does training under watermarks and other shifts remove its shortcuts?"""

from einstellung.probes.last_layer.data import LastLayerData, read_data
from einstellung.probes.last_layer.study import StudyDesign, average, run_study
from einstellung.probes.last_layer.training import LastLayerTraining

__all__ = ["LastLayerData", "LastLayerTraining", "StudyDesign", "average", "read_data", "run_study"]
