"""The handbook: docs/ as a site, built offline. `python -m handbook`, or `make docs`."""
