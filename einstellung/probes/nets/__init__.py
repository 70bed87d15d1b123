"""Probes of the nets of a study: what a net computes on a split, and what each probe reads from it."""
