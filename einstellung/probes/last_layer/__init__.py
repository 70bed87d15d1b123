"""A new last layer on a frozen net: does learning under watermarks and other shifts cure it of its shortcuts?"""

from einstellung.probes.last_layer.pictures import Pictures, read
from einstellung.probes.last_layer.study import Question, average, study
from einstellung.probes.last_layer.training import Recipe

__all__ = ["Pictures", "Question", "Recipe", "average", "read", "study"]
