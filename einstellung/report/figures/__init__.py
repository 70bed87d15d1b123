"""Figures, drawn from a timeline and a scorecard."""
