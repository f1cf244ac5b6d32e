"""Runnable stories on real data: `python -m demos.train`, `demos.predict` and so on, each with `--help`."""
