"""Models as ONNX files, which other programs run.

A model is called, and the ops that it runs are written down (`trace.py`); each becomes the ONNX nodes that its row in
`rows.py` names. A composite without a row opens into its definition, and a pointwise one into its formula. That is done
for batches of several sizes, with other values, and what differs is computed from the size or refused (`merge.py`). In
the end the graph is run, and compared with the model (`export.py`).
"""

from .export import export

__all__ = ["export"]
