"""A results folder on disk: configuration, provenance, run files, and which runs are finished."""
