"""Compile the kernels of a module with numba, and write them as object files."""

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from recrawl.kernels import compiling, jit
from recrawl.kernels.built import kernel_name
from tools.kernel_types import signatures

SLOT = ir.IntType(64)


def write_objects(module: str, level: str, folder: Path) -> None:
    """Write an object file per version of a kernel, and `kernels.json`, which lists them."""
    importlib.import_module(module)
    sources = [
        source
        for kernel, source in jit.SOURCES.items()
        if source.kernel and kernel.__module__ == module and hasattr(kernel, "__wrapped__")
    ]
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[list[str]] = []
    for source in sources:
        dispatcher = compiling.dispatcher(source, cache=False, **jit.NO_WRAPPERS)
        for signature in signatures(source.function):
            dispatcher.compile(signature.types)
            symbol = re.sub(r"\W", "_", f"{level} {kernel_name(source.function)} {len(rows)}")
            code = _object_code(dispatcher, signature.types, level, symbol)
            (folder / f"{symbol}.o").write_bytes(code)
            rows.append(
                [kernel_name(source.function), symbol, signature.arguments, signature.result]
            )
    (folder / "kernels.json").write_text(json.dumps(rows))


def _object_code(dispatcher: Any, types: tuple[Any, ...], level: str, symbol: str) -> bytes:  # noqa: ANN401
    """Return position-independent machine code with a single visible symbol, the entry point."""
    module = llvm.parse_assembly(dispatcher.inspect_llvm(types))
    module.link_in(llvm.parse_assembly(str(_entry_point(dispatcher.overloads[types], symbol))))
    for defined in (*module.functions, *module.global_variables):
        if not defined.is_declaration and defined.name != symbol:
            defined.linkage = "internal"
    target = llvm.Target.from_triple(module.triple)
    machine = target.create_target_machine(cpu=level, opt=3, reloc="pic", codemodel="default")
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return bytes(machine.emit_object(module))


def _entry_point(compiled: Any, symbol: str) -> ir.Module:  # noqa: ANN401
    """Return code that calls a kernel with arguments from slots, and writes its result to slots."""
    context, description = compiled.target_context, compiled.fndesc
    convention = context.call_conv
    kind = convention.get_function_type(description.restype, description.argtypes)
    module = ir.Module()
    kernel = ir.Function(module, kind, description.llvm_func_name)
    slots = SLOT.as_pointer()
    entry = ir.Function(module, ir.FunctionType(ir.IntType(32), [slots, slots]), symbol)
    builder = ir.IRBuilder(entry.append_basic_block())
    result = builder.alloca(convention.get_return_type(description.restype).pointee)
    error = builder.alloca(kind.args[1].pointee)
    arguments = [
        _from_slot(builder, _slot(builder, entry.args[0], position), wanted)
        for position, wanted in enumerate(kind.args[2:])
    ]
    status = builder.call(kernel, [result, error, *arguments])
    for position, leaf in enumerate(_leaves(builder, builder.load(result))):
        builder.store(_as_slot(builder, leaf), _slot(builder, entry.args[1], position))
    builder.ret(status)
    return module


def _slot(builder: ir.IRBuilder, slots: ir.Value, position: int) -> ir.Value:
    return builder.gep(slots, [SLOT(position)])


def _from_slot(builder: ir.IRBuilder, slot: ir.Value, wanted: ir.Type) -> ir.Value:
    """Load a slot as a number or pointer of the wanted type."""
    value = builder.load(slot)
    if isinstance(wanted, ir.PointerType):
        return builder.inttoptr(value, wanted)
    if isinstance(wanted, ir.DoubleType):
        return builder.bitcast(value, wanted)
    if isinstance(wanted, ir.IntType):
        return value if wanted.width == SLOT.width else builder.trunc(value, wanted)
    raise TypeError(f"kernels cannot take a {wanted}")


def _as_slot(builder: ir.IRBuilder, leaf: ir.Value) -> ir.Value:
    if isinstance(leaf.type, ir.PointerType):
        return builder.ptrtoint(leaf, SLOT)
    if isinstance(leaf.type, ir.DoubleType):
        return builder.bitcast(leaf, SLOT)
    return leaf if leaf.type.width == SLOT.width else builder.zext(leaf, SLOT)


def _leaves(builder: ir.IRBuilder, value: ir.Value) -> Iterator[ir.Value]:
    """Yield the numbers and pointers in a value, in order."""
    if isinstance(value.type, ir.Aggregate):
        for position in range(len(value.type)):
            yield from _leaves(builder, builder.extract_value(value, position))
    else:
        yield value


if __name__ == "__main__":
    # Modules and their folders come in one by one: whoever is done takes the next.
    for line in sys.stdin:
        module, folder = line.rstrip("\n").split("\t")
        write_objects(module, sys.argv[1], Path(folder))
        print(module, flush=True)
