"""Audit a model for unknown cues: find small regions, or global properties, that decide the class."""

from einstellung.probes.audit.audit import AuditSettings, audit_model
from einstellung.probes.audit.model import AuditedModel

__all__ = ["AuditSettings", "AuditedModel", "audit_model"]
