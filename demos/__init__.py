"""Runnable stories on real data: `python -m demos.train`, `demos.moons`, `demos.activations`, each with `--help`."""
