"""Capture: a function is recorded while it runs, and from then on played as one program, without Python in between."""
