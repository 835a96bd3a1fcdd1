"""Seeded workloads, measured as ratios against a peer or a physical limit in the same run.

To add a benchmark:

1. Write a module with a docstring, whose first line says what is measured, and a function ``run``
   that returns figures with their bars.
2. Name it in `benchmarks.__main__.ALL`.
3. Give every constant that makes it long a second value, with which all of its code still runs, in
   a second or two: ``PAGES = sized(1_000_000, smallest=200)``. Files that are kept are written to
   ``output(path)``, which at the smallest size is elsewhere, and tables with ``write_section``.
   Where something that it needs is absent, such as recorded histories, raise `AbsentError`.

``python -m benchmarks --smallest NAME`` runs it so, and `tests/test_benchmarks.py` runs each.
"""
