"""Made by `python -m tinygrad_like.compat.stubs`: do not edit."""
from . import cnn as cnn
from . import convnext as convnext
from . import language_model as language_model
from . import mlp as mlp
from . import recurrent_language_model as recurrent_language_model
from . import resnet as resnet
from . import resnet_s as resnet_s
from . import transformer as transformer
from . import vit as vit
from nn.models import *
