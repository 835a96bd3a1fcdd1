"""Compile loops to machine code, and the mathematics and grouping that kernels share."""
