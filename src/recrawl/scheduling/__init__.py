"""Schedule visits: the value of a visit, and a frontier that spends a budget on the best."""
