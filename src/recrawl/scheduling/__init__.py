"""Who is next: the value of a visit, and the frontier that spends a budget by it."""
