"""The paper's experiments and theorems, with figures, numbers and a verdict on each claim.

Avrachenkov, Patil and Thoppe, "Change Rate Estimation and Optimal Freshness in Web Page Crawling",
VALUETOOLS 2020. Everything is measured on the estimators, the allocation and the replay that the
rest of recrawl uses.
"""

from recrawl.paper.parts import PARTS, part_names, reproduce

__all__ = ["PARTS", "part_names", "reproduce"]
