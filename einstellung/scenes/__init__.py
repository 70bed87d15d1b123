"""Scenes of simple objects that satisfy given rules: exact sampling, layout and rendering."""
