"""Comparisons with PyTorch on the same CPU: `make bench`, or `python -m benchmarks.run --help`."""
