"""Transforms of functions and graphs: derivatives, gradient checks, checkpoints, pictures."""
