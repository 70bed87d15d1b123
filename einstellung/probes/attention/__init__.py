"""Attention of a vision transformer's class token, measured without changing the model's outputs."""

from einstellung.probes.attention.adapters import AttentionAdapter, attention_adapters, attention_weights
from einstellung.probes.attention.probe import AttentionMaps, AttentionProbe, has_attention
from einstellung.probes.attention.summary import AttentionSummary

__all__ = [
    "AttentionAdapter",
    "AttentionMaps",
    "AttentionProbe",
    "AttentionSummary",
    "attention_adapters",
    "attention_weights",
    "has_attention",
]
