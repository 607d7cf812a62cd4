"""The help of commands in one style: panels of commands, and names such as N, FILE and SLUG for values.

Typer shows a value by its Python type, such as `<int range>`. Here it has a name in capital letters. A number is `N`
and a path is `FILE` unless the command gives another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from typer.core import TyperCommand, TyperGroup

SUMMARY_LENGTH: Final = 45
"""Maximum length of a command's first sentence, in characters, so that an overview of 80 columns shows it whole."""

_BY_TYPE: Final[dict[object, str]] = {int: "N", float: "N", Path: "FILE", list[Path]: "FILE"}


def _name_values(command: Any) -> None:
    """Give each parameter of a command the name of its type, unless it has a name already."""
    for param in command.params:
        if param.metavar is None and not getattr(param, "is_flag", False):
            param.metavar = _BY_TYPE.get(param.type_descriptor.annotation, "NAME")


def _argument(param: Any) -> str:
    return f"{param.metavar}..." if param.nargs != 1 else str(param.metavar)


def _option(param: Any) -> str:
    names = ", ".join(sorted(param.opts, key=len))
    if param.secondary_opts:
        return f"{names} / {', '.join(param.secondary_opts)}"
    return names if param.is_flag else f"{names} {param.metavar}"


def _range(low: float | None, high: float | None) -> str:
    """Return the limits of a number in words, or "" if they go without saying."""
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None and low > 1:
        return f"at least {low}"
    return "" if high is None else f"at most {high}"


def _details(param: Any) -> Iterator[str]:
    """Yield what an option's help adds: its choices, its default, its limits, and whether it is required."""
    if param.type_descriptor.is_choice:
        yield f"one of {', '.join(map(str, param.type_descriptor.choices))}"
    if param.show_default and param.default not in (None, [], ()) and not getattr(param, "is_flag", False):
        yield f"default: {param.default}"
    if limits := _range(param.min, param.max):
        yield limits
    if param.required and param.param_type_name == "option":
        yield "required"


def _row(param: Any) -> tuple[str, str]:
    details = "; ".join(_details(param))
    text = f"{param.help or ''}  [{details}]" if details else param.help or ""
    return _argument(param) if param.param_type_name == "argument" else _option(param), text


def _write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the sections with the arguments and the options of a command."""
    for kind, title in (("argument", "Arguments"), ("option", "Options")):
        shown = (param for param in command.get_params(ctx) if param.param_type_name == kind and not param.hidden)
        if rows := [_row(param) for param in shown]:
            with formatter.section(title):
                formatter.write_dl(rows)


class Command(TyperCommand):
    """A command whose help names values in capital letters. An optional argument is in brackets."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        _name_values(self)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the command. For a completion, keep them as they are, without importing pydantic."""
        if not ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        params = self.get_params(ctx)
        waiting = {name for param in params if not getattr(param, "is_flag", True) for name in param.opts}
        complete = args[:-1] if args and args[-1] in waiting else args  # the value of the last option is being typed
        given, ctx.args, _ = self.make_parser(ctx).parse_args(args=list(complete))
        for param in params:
            ctx.params[param.name], source = param.consume_value(ctx, given)
            ctx.set_parameter_source(param.name, source)
        return list(ctx.args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the line that shows how to call the command."""
        arguments = [param for param in self.get_params(ctx) if param.param_type_name == "argument"]
        return ["[OPTIONS]", *(_argument(each) if each.required else f"[{_argument(each)}]" for each in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options."""
        _write_parameters(self, ctx, formatter)


class PanelGroup(TyperGroup):
    """A command group whose overview shows its commands in panels.

    `panels` maps the title of each panel to the names of its commands. The commands of no panel come last.
    """

    panels: ClassVar[Mapping[str, Sequence[str]]] = {}

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        _name_values(self)
        order = [name for names in self.panels.values() for name in names]
        self.commands = dict(sorted(self.commands.items(), key=lambda item: (*order, item[0]).index(item[0])))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before the name of the command."""
        for param in self.get_params(ctx):
            if getattr(param, "is_flag", False) and param.default is None:
                param.default = False  # Typer imports pydantic to convert None, which would make a completion slow
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the line that shows how to call a command of the group."""
        return ["[OPTIONS]", "COMMAND", "[ARGS...]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of the group, and then its commands with their summaries."""
        _write_parameters(self, ctx, formatter)
        listed = {name for names in self.panels.values() for name in names}
        others = [name for name in self.commands if name not in listed]
        width = max(map(len, self.commands), default=0)
        for title, names in {**self.panels, "Commands": others}.items():
            if names:
                with formatter.section(title):
                    summaries = (self.commands[name].get_short_help_str(SUMMARY_LENGTH) for name in names)
                    formatter.write_dl([(name.ljust(width), each) for name, each in zip(names, summaries, strict=True)])
