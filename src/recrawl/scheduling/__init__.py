"""Scheduling: the value of a visit, and the frontier that spends a budget on the best ones."""
