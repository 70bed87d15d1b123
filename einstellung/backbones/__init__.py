"""Networks."""

from einstellung.backbones.embedding_bag import EmbeddingBag
from einstellung.backbones.linear import LinearClassifier
from einstellung.backbones.minilm import MiniLM
from einstellung.backbones.mlp import MultiLayerPerceptron
from einstellung.backbones.registry import backbones, build_backbone
from einstellung.backbones.resnet import ResNet18
from einstellung.backbones.resnet1d import ResNet1d
from einstellung.backbones.set_transformer import SetTransformer
from einstellung.backbones.text_transformer import TextTransformer
from einstellung.backbones.vit import VisionTransformer, ViTBase16
from einstellung.backbones.weights import weights_digest

__all__ = [
    "EmbeddingBag",
    "LinearClassifier",
    "MiniLM",
    "MultiLayerPerceptron",
    "ResNet1d",
    "ResNet18",
    "SetTransformer",
    "TextTransformer",
    "ViTBase16",
    "VisionTransformer",
    "backbones",
    "build_backbone",
    "weights_digest",
]
