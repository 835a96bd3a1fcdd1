"""How loops are compiled, and the mathematics and grouping that kernels share."""
