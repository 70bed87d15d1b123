"""Scenes of simple objects with rules: what may be in a picture, drawn exactly, and the picture itself."""
