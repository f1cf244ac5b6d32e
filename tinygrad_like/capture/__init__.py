"""Capture: record a function while it runs, then play it as one program, without Python in between."""
