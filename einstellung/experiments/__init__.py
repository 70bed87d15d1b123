"""Configuration, grid of runs, results folder."""
