"""Logs of other tools as timelines: one file per format, one for the mapping of their columns."""
