"""Capture: record a function while it runs, then replay it as one program, without Python in between."""
