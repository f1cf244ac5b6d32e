"""The engine: the graph, how ops are declared and called, and Tensor. It knows no ring."""
