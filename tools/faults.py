"""The small faults that can be planted in a file: wrong operators, numbers and conditions."""

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: Functions with one of these decorators are compiled.
KERNEL = {"compiled", "compiled_sum", "inlined", "step", "small_step"}
PAIRS = "Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, And Or, Add Sub, Mult Div"
SWAPS: dict[type[ast.AST], type[ast.AST]] = {ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult}
for pair in PAIRS.split(", "):
    one, other = (getattr(ast, name) for name in pair.split())
    SWAPS |= {one: other, other: one}
#: Smaller numbers are off by one instead of tenfold.
SMALL = 11
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
#: What is logged is a message, and nothing else depends on it.
LOGGERS, LEVELS = {"LOGGER", "_log", "logger"}, {"debug", "info", "warning", "error", "log"}
#: What is fetched into the processor's cache ahead of time would come later, when it is needed.
PREFETCHES = {"prefetch", "prefetch_start"}
#: Functions that only have kernels loaded early: nothing that they compute is used.
WARM_UPS = {("src/recrawl/engine/frontier.py", "warm_up")}


@dataclass(frozen=True)
class Mutant:
    """One fault: the bytes of a file from start to end, and what stands there instead."""

    path: Path
    line: int
    start: int
    end: int
    instead: str
    in_kernel: bool

    @property
    def package(self) -> str:
        """The package below recrawl, or the module."""
        return self.path.relative_to("src/recrawl").parts[0].removesuffix(".py")

    def __str__(self) -> str:
        was = (ROOT / self.path).read_bytes()[self.start : self.end].decode()
        return f"{self.path}:{self.line}: {' '.join(was.split())}  →  {self.instead}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Find every fault that can be planted in a file."""
    source = (ROOT / path).read_bytes()
    starts = [0, *itertools.accumulate(len(line) for line in source.splitlines(keepends=True))]

    def visit(node: ast.AST, *, in_kernel: bool) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef):
            if (str(path), node.name) in WARM_UPS:
                return
            in_kernel |= any(
                isinstance(d, ast.Name) and d.id in KERNEL for d in node.decorator_list
            )
        if isinstance(node, ast.expr | ast.stmt) and (instead := changed(node)):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            yield Mutant(path, node.lineno, start, end, instead, in_kernel)
        for child in children(node):
            yield from visit(child, in_kernel=in_kernel)

    yield from visit(ast.parse(source), in_kernel=False)


def children(node: ast.AST) -> Iterator[ast.AST]:
    """Return the parts of a node that run: no types, decorators, texts or type-checking blocks."""
    match node:
        case ast.JoinedStr():
            return
        case ast.stmt() if is_logging(node):
            return
        case ast.If(test) if "TYPE_CHECKING" in ast.unparse(test):
            return
        case ast.keyword("strict", ast.Constant(True)):
            # What `zip` pairs up is equally long anyway: this only makes sure.
            return
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns", "decorator_list", "bases"}:
            parts = value if isinstance(value, list) else [value]
            yield from (part for part in parts if isinstance(part, ast.AST))


def is_logging(node: ast.stmt) -> bool:
    """Whether a statement logs a message, and does nothing else."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), level))):
            return name in LOGGERS and level in LEVELS
    return False


def changed(node: ast.AST) -> str | None:
    """Return what could wrongly stand where a node is, if anything could."""
    if isinstance(node, ast.stmt):
        return changed_statement(node)
    if isinstance(node, ast.Constant):
        return changed_number(node.value)
    match node:
        case ast.Compare(left, [op], comparators) if type(op) in SWAPS:
            instead: ast.expr = ast.Compare(left, [swap(op)], comparators)
        case ast.BinOp(left, op, right) if type(op) in SWAPS:
            instead = ast.BinOp(left, swap(op), right)
        case ast.BoolOp(op, values):
            instead = ast.BoolOp(swap(op), values)
        case ast.UnaryOp(ast.Not(), operand):
            instead = operand
        case ast.IfExp(test, body, orelse):
            instead = ast.IfExp(test, orelse, body)
        case ast.Call(ast.Name(name), args, keywords) if name in CALLS:
            instead = ast.Call(ast.Name(CALLS[name]), args, keywords)
        case _:
            return None
    return f"({ast.unparse(instead)})"


def changed_statement(node: ast.stmt) -> str | None:
    """Return a statement with the opposite effect, or none."""
    match node:
        case ast.AugAssign(target, op, value) if type(op) in SWAPS:
            return ast.unparse(ast.AugAssign(target, swap(op), value))
        case ast.Expr(ast.Call(ast.Name(name))) if name in PREFETCHES:
            return None
        case ast.Expr(ast.Call() | ast.Await(ast.Call())):
            return None if is_logging(node) else "pass"
        case ast.Raise(exc=ast.expr()) | ast.Continue():
            return "pass"
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            return "return None"
    return None


def changed_number(value: object) -> str | None:
    """Return another number, or the other truth."""
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1 if value < SMALL else value * 10)
    return str(value * 10 or 1.0) if isinstance(value, float) else None


def swap(op: ast.AST) -> Any:  # noqa: ANN401 - an operator of the same kind
    """Return the operator that an operator is mistaken for."""
    return SWAPS[type(op)]()
