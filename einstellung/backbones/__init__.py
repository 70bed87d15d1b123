"""Networks."""

from einstellung.backbones.registry import backbones, build_backbone
from einstellung.backbones.resnet import ResNet18
from einstellung.backbones.vit import VisionTransformer

__all__ = ["ResNet18", "VisionTransformer", "backbones", "build_backbone"]
