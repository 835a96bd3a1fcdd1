"""What ``--help`` shows: two columns, the second wide enough for sentences."""

import inspect
import shutil
import textwrap
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

#: The widest first column; the text of a longer option starts on a line of its own.
MAX_NAMES = 26
#: Lines that are longer than this are hard to read, however wide the terminal is.
MAX_WIDTH = 110
MIN_WIDTH = 40


class Command(TyperCommand):
    """A command with our help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the help."""
        formatter.write(help_text(self, ctx, _width()))


class Group(TyperGroup):
    """A group of commands with our help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the help."""
        formatter.write(help_text(self, ctx, _width()))


def _width() -> int:
    return min(max(shutil.get_terminal_size().columns, MIN_WIDTH), MAX_WIDTH)


def help_text(command: Any, ctx: Any, width: int) -> str:  # noqa: ANN401
    """Return the help of a command: usage, description, commands, arguments and options."""
    usage = " ".join(command.collect_usage_pieces(ctx)).translate({ord("{"): None, ord("}"): None})
    parts = [f"{_heading('Usage:')} {ctx.command_path} {usage}"]
    parts.append(description(command.help or "", width))
    rows: dict[str, list[tuple[str, str]]] = {"Commands:": [], "Arguments:": [], "Options:": []}
    for name in command.list_commands(ctx) if isinstance(command, TyperGroup) else ():
        one = command.get_command(ctx, name)
        rows["Commands:"].append((name, one.get_short_help_str(limit=1000)))
    for param in command.get_params(ctx):
        if getattr(param, "hidden", False):
            continue
        title = "Arguments:" if param.param_type_name == "argument" else "Options:"
        rows[title].append((_names(param, ctx), _meaning(param, ctx)))
    parts += [section(title, listed, width) for title, listed in rows.items() if listed]
    return "\n\n".join(parts) + "\n"


def description(text: str, width: int) -> str:
    """Wrap paragraphs and leave examples, which are indented, alone."""
    return "\n\n".join(_paragraph(one, width) for one in inspect.cleandoc(text).split("\n\n"))


def _paragraph(text: str, width: int) -> str:
    title, _, rest = text.partition("\n")
    if title.startswith("    "):
        return text
    if title in {"Example:", "Examples:"}:
        return f"{_heading(title)}\n{rest}"
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def section(title: str, rows: list[tuple[str, str]], width: int) -> str:
    r"""Return names and meanings in two columns under a title.

    >>> rows = [("--for TIME", "Stop then."), ("--all", "Show all.")]
    >>> print(section("Options:", rows, 40).partition("\n")[2])
      --for TIME  Stop then.
      --all       Show all.
    """
    names = [len(name) for name, _ in rows if len(name) <= MAX_NAMES]
    indent = max(names, default=MAX_NAMES) + 4
    lines = []
    for name, meaning in rows:
        text = textwrap.wrap(
            meaning, width - indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
        if len(name) <= MAX_NAMES:
            lines.append(f"  {name:{indent - 2}}{text.pop(0)}".rstrip())
        else:
            lines.append(f"  {name}")
        lines += [f"{'':{indent}}{line}" for line in text]
    return "\n".join([_heading(title), *lines])


def _names(param: Any, ctx: Any) -> str:  # noqa: ANN401
    """Return how to write a parameter; for a flag, without a value."""
    if param.param_type_name == "argument":
        return str(param.metavar or param.make_metavar(ctx))
    if param.is_flag or param.count:
        short = sorted(param.opts, key=len)
        return " / ".join([", ".join(short), *param.secondary_opts])
    return f"{', '.join(sorted(param.opts, key=len))} {param.metavar or param.make_metavar(ctx)}"


def _meaning(param: Any, ctx: Any) -> str:  # noqa: ANN401
    meaning = param.help or ""
    if param.required:
        return f"{meaning} Required."
    shows = param.show_default and not getattr(param, "is_flag", False)
    default = param.get_default(ctx, call=False) if shows else None
    if default is None or "Default:" in meaning or default == []:
        return meaning
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    # A list without spaces could not be wrapped.
    return f"{meaning} Default: {shown.replace(',', ', ')}."


def _heading(title: str) -> str:
    return typer.style(title, bold=True)
