"""Launchers: what they cost and how they scale (``scaling``), and what is left after kills (``kills``)."""
