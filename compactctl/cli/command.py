"""A command, and how typer is told of it: nothing else knows that typer reads signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

import msgspec
import typer

from compactctl import layers

Options = TypeVar("Options", bound=msgspec.Struct)
Group = TypeVar("Group", bound=msgspec.Struct)

LayerOptions: TypeAlias = dict[str, dict[str, Any]]
"""Options of layers, by the layer's name and their own; a layer's signature gives their types."""


class Command(msgspec.Struct, Generic[Options], frozen=True):
    """What the module of a command says of it.

    ``options`` has a field for each option and argument, in the order of ``--help``, annotated
    with what typer has to know; its docstring is the help of the command. A field that is a struct
    itself stands for the options in it, one of ``LayerOptions`` for those of ``layers``. ``run``
    does the work and returns the exit code. ``help`` replaces the docstring, and the fields in
    ``without`` are not offered: they keep their defaults.
    """

    options: type[Options]
    run: Callable[[Options], int]
    example: str
    help: str | None = None
    layers: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()

    def add_to(self, app: typer.Typer, name: str) -> None:
        """Make it the command ``name`` of ``app``."""
        text = inspect.cleandoc(self.help or self.options.__doc__ or "")
        # \b: typer leaves the lines of this paragraph as they are, so the example can be pasted.
        app.command(name, help=f"{text}\n\nExample:\n\n\b\n    {self.example}")(self._function())

    def _function(self) -> Callable[..., int]:
        """Return what typer calls: it reads the options from the signature."""

        def function(**values: Any) -> int:
            return self.run(self._gather(self.options, values))

        parameters = list(self._parameters(self.options))
        # How a function says that its signature is another; mypy knows no such member.
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return function

    def _parameters(self, group: type[msgspec.Struct]) -> Iterator[inspect.Parameter]:
        """Yield the parameters that typer makes options and arguments of."""
        for field in msgspec.structs.fields(group):
            if field.type == LayerOptions:
                yield from self._layer_parameters()
            elif _is_group(field.type):
                yield from self._parameters(field.type)
            elif field.name not in self.without:
                required = field.default is msgspec.NODEFAULT
                default = inspect.Parameter.empty if required else field.default
                yield _parameter(field.name, field.type, default)

    def _layer_parameters(self) -> Iterator[inspect.Parameter]:
        for layer in self.layers:
            for key, (kind, text, default) in layers.options(layer).items():
                option = layers.option_name(key, layer, self.layers)
                # A flag by its name alone, or typer would add --no-NAME.
                names = [f"--{option.replace('_', '-')}"] if kind is bool else []
                yield _parameter(option, Annotated[kind, typer.Option(*names, help=text)], default)

    def _gather(self, group: type[Group], values: dict[str, Any]) -> Group:
        """Return what typer made of the command line as the struct ``group``."""
        found: dict[str, Any] = {}
        for field in msgspec.structs.fields(group):
            if field.type == LayerOptions:
                found[field.name] = self._layer_options(values)
            elif _is_group(field.type):
                found[field.name] = self._gather(field.type, values)
            elif field.name not in self.without:
                found[field.name] = values[field.name]
        return group(**found)

    def _layer_options(self, values: dict[str, Any]) -> LayerOptions:
        return {
            layer: {
                key: values[layers.option_name(key, layer, self.layers)]
                for key in layers.options(layer)
            }
            for layer in self.layers
        }


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
