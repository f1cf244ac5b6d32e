"""Layers, losses and models. Names, arguments and state_dict keys are PyTorch's, so an axis is called `dim` here.

(Tensor and the ops follow tinygrad and NumPy, which call it `axis`.) Numbers in brackets, such as (7.35) or (003), are
equations and chapters of the source texts: see docs/seeds.md.
"""

# isort: off
from functools import wraps
from typing import Any

import numpy as np

from tinygrad_like.errors import named

from . import functional, init, models, utils
from .activation import (
    CELU, ELU, GELU, GLU, SELU, BinaryStep, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid,
    LogSoftmax, Mish, PReLU, ReLU, ReLU6, Sigmoid, SiLU, Softmax, Softmin, Softplus, Softshrink, Softsign, SwiGLU, Tanh,
)
from .attention import KeyValueCache, MultiHeadAttention, MultiheadAttention
from .batch_norm_tools import fold_batch_norm, freeze_batch_norm, reestimate_batch_norm
from .blocks import BasicBlock, Bottleneck, ConvNeXtBlock
from .containers import ModuleDict, ModuleList, ParameterList, Sequential
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Fold, Unfold
from .dropout import (
    DropConnect, Dropout, Dropout1d, Dropout2d, Dropout3d, GaussianDropout, MonteCarlo, mc_predict,
)
from .embedding import Embedding
from .linear import Flatten, Identity, Linear, Permute, Unflatten
from .loss import (
    BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, GaussianNLLLoss, HuberLoss, KLDivLoss, L1Loss, MarginRankingLoss,
    MSELoss, NLLLoss, SmoothL1Loss, TripletMarginLoss,
)
from .models import MLP, LanguageModel, ResNet, ResNetS, Transformer, ViT
from .module import Module
from . import parallel as parallel
from .parallel import DataParallel
from . import parameter as parameter
from .parameter import Buffer, Parameter
from .norm import (
    BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm,
    LayerNorm2d, RMSNorm, SyncBatchNorm, convert_sync_batchnorm,
)
from .pool import (
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AvgPool1d, AvgPool2d, AvgPool3d, CircularPad1d, CircularPad2d, CircularPad3d,
    ConstantPad1d, ConstantPad2d, ConstantPad3d, MaxPool1d, MaxPool2d, MaxPool3d, ReflectionPad1d, ReflectionPad2d,
    ReflectionPad3d, ReplicationPad1d, ReplicationPad2d, ReplicationPad3d, Upsample, UpsamplingBilinear2d,
    UpsamplingNearest2d, ZeroPad1d, ZeroPad2d, ZeroPad3d,
)
from .position import LearnedEncoding, RotaryEncoding, SinusoidalEncoding, sinusoidal_encoding
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from .residual import Res, Residual
from .state import functional_call
from .summary import summary
from .transformer import (
    FeedForward, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer,
)

__all__ = [
    # the base
    "Module", "Parameter", "Buffer", "functional_call",
    # containers
    "Sequential", "ModuleList", "ModuleDict", "ParameterList",
    # layers
    "Linear", "Identity", "Flatten", "Unflatten", "Permute",
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "Unfold", "Fold", "DataParallel",
    # activations
    "BinaryStep", "ReLU", "LeakyReLU", "PReLU", "ELU", "Sigmoid", "LogSigmoid", "Tanh", "GELU", "SiLU", "Softplus",
    "Softmax", "LogSoftmax", "GLU", "SwiGLU", "CELU", "SELU", "Mish", "Softsign", "ReLU6", "Hardsigmoid", "Hardswish",
    "Hardtanh", "Hardshrink", "Softshrink", "Softmin",
    # normalization
    "LayerNorm", "LayerNorm2d", "RMSNorm", "BatchNorm1d", "BatchNorm2d", "GroupNorm", "InstanceNorm1d",
    "InstanceNorm2d", "BatchNorm3d", "InstanceNorm3d", "SyncBatchNorm", "convert_sync_batchnorm", "fold_batch_norm",
    "freeze_batch_norm", "reestimate_batch_norm",
    # padding and pooling
    "ZeroPad1d", "ZeroPad2d", "ReflectionPad1d", "ReflectionPad2d", "ReplicationPad1d", "ReplicationPad2d",
    "CircularPad1d", "CircularPad2d", "ZeroPad3d", "ReflectionPad3d", "ReplicationPad3d", "CircularPad3d",
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "MaxPool3d", "AvgPool3d",
    "MaxPool1d", "MaxPool2d", "AvgPool1d", "AvgPool2d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d",
    "Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d",
    # dropout
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d",
    "GaussianDropout", "DropConnect", "mc_predict", "MonteCarlo",
    # residual blocks
    "Residual", "Res", "BasicBlock", "Bottleneck", "ConvNeXtBlock",
    # recurrent
    "RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell",
    # attention and Transformers
    "Embedding", "MultiheadAttention", "MultiHeadAttention", "KeyValueCache", "FeedForward",
    "TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder", "TransformerDecoder",
    "SinusoidalEncoding", "LearnedEncoding", "RotaryEncoding", "sinusoidal_encoding",
    # losses
    "CrossEntropyLoss", "NLLLoss", "MSELoss", "L1Loss", "HuberLoss", "SmoothL1Loss", "BCELoss", "BCEWithLogitsLoss",
    "KLDivLoss", "GaussianNLLLoss", "MarginRankingLoss", "TripletMarginLoss",
    # models
    "MLP", "ResNet", "ResNetS", "Transformer", "LanguageModel", "ViT",
    # tools
    "functional", "init", "models", "summary", "utils",
]


def _constructor(init: Any, name: str) -> Any:
    """`init`, but it names the layer in unforeseen errors, and accepts NumPy's numbers, such as np.prod(shape)."""
    init = named(init, name)

    @wraps(init)
    def construct(self: Any, *args: Any, **options: Any) -> None:
        args = tuple([x.item() if isinstance(x, np.generic) else x for x in args])
        init(self, *args, **{name: x.item() if isinstance(x, np.generic) else x for name, x in options.items()})

    return construct


for _name in __all__:
    _class: Any = globals()[_name]
    if _name[0].isupper() and _class is not Module and _class.__new__ is object.__new__:
        _class.__init__ = _constructor(_class.__init__, _name)
