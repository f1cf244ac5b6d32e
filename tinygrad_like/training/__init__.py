"""Training: loops and their parts, early stopping, metrics, checkpoints, logs, fine-tuning."""

from .callbacks import Callback, Run
from .checkpoint import load_checkpoint, load_weights, previous, read_metadata, save_checkpoint, save_weights
from .early_stopping import EarlyStopping
from .find_lr import RangeTest, find_lr
from .finetune import replace_head
from .fit import fit
from .gpt2 import load_gpt2
from .log import Log
from .loop import evaluating, predict, train_epoch
from .metrics import accuracy, calibration_error, confusion_matrix, f1_score, top_k_accuracy
from .pictures import show

__all__ = [
    "Callback", "EarlyStopping", "Log", "RangeTest", "Run", "accuracy", "calibration_error", "confusion_matrix",
    "evaluating", "f1_score", "find_lr", "fit", "load_checkpoint", "load_gpt2", "load_weights", "predict", "previous",
    "read_metadata", "replace_head", "save_checkpoint", "save_weights", "show", "top_k_accuracy", "train_epoch",
]
