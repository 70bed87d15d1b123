"""Probes of trained models: attention, watermark, distribution shifts, last layer."""
