"""Training: loops and their parts, early stopping, metrics, checkpoints, logs, fine-tuning."""

from .checkpoint import (
    load_checkpoint,
    load_weights,
    previous,
    read_metadata,
    replace_head,
    save_checkpoint,
    save_weights,
)
from .early_stopping import EarlyStopping
from .fit import fit
from .log import Log
from .loop import accuracy, calibration_error, evaluating, predict, train_epoch

__all__ = [
    "EarlyStopping", "Log", "accuracy", "calibration_error", "evaluating", "fit", "load_checkpoint", "load_weights",
    "predict", "previous", "read_metadata", "replace_head", "save_checkpoint", "save_weights", "train_epoch",
]
