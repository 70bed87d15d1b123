"""Networks."""

from einstellung.backbones.linear import LinearClassifier
from einstellung.backbones.mlp import MultiLayerPerceptron
from einstellung.backbones.registry import backbones, build_backbone
from einstellung.backbones.resnet import ResNet18
from einstellung.backbones.set_transformer import SetTransformer
from einstellung.backbones.vit import VisionTransformer, ViTBase16
from einstellung.backbones.weights import weights_digest

__all__ = [
    "LinearClassifier",
    "MultiLayerPerceptron",
    "ResNet18",
    "SetTransformer",
    "ViTBase16",
    "VisionTransformer",
    "backbones",
    "build_backbone",
    "weights_digest",
]
