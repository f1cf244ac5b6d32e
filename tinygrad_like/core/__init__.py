"""The engine: the graph, how an op is declared, what a call of it does, and Tensor. It knows no ring."""
