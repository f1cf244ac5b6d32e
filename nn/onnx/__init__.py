"""Models as ONNX files, which other programs run.

A model is called, and the ops that it runs are written down; each becomes the ONNX nodes that its row in `rows.py`
names. A fused op without a row opens into its reference, and a pointwise one into its formula. Two calls, with batches
of different sizes, tell which numbers, such as those of a shape, come from the batch.
"""

from .export import export

__all__ = ["export"]
