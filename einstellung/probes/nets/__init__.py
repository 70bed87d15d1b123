"""Probes of a study's nets: representation, calibration, plasticity and flips."""
