"""Functions of functions and of graphs: derivatives, checks, checkpoints, pictures."""
