"""Einstellung: does a continual learner adapt for the right reason?"""

__version__ = "0.1.0"
