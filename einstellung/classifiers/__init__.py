"""Trained image classifiers with their preprocessing: packaged weights, timm models, user nets."""

from einstellung.classifiers.classifier import Classifier, Extractor
from einstellung.classifiers.loading import KINDS, load_classifier, load_extractor

__all__ = ["KINDS", "Classifier", "Extractor", "load_classifier", "load_extractor"]
