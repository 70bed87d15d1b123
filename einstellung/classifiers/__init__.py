"""Trained image classifiers with their own preprocessing: published weights, timm's models, a user's own net."""

from einstellung.classifiers.classifier import Classifier, Extractor
from einstellung.classifiers.named import KINDS, classifier, extractor

__all__ = ["KINDS", "Classifier", "Extractor", "classifier", "extractor"]
