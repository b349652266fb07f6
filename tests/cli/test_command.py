"""How the struct of a command's options becomes a command line, and comes back filled."""

from typing import Annotated

import msgspec
import pytest
import typer

from compactctl import layers
from compactctl.cli.command import Command, LayerOptions


class Common(msgspec.Struct):
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing.")] = False


class Options(msgspec.Struct, kw_only=True):
    """Do it.

    And well.
    """

    file: Annotated[str, typer.Argument(help="What to do it to.")]
    layer_options: LayerOptions
    common: Common
    folder: Annotated[str | None, typer.Option(help="Where to do it.")] = None


def command(**more):
    """Make a command that gives its options back."""
    return Command(Options, lambda options: options, "compactctl do it", **more)


def parser(command):
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    command.add_to(app, "do")
    return typer.main.get_command(app)


def parsed(command, *arguments):
    made = parser(command)
    with made.make_context("do", list(arguments)) as context:
        return made.invoke(context)


def test_what_is_not_given_has_its_default():
    assert parsed(command(), "x") == Options(file="x", layer_options={}, common=Common())


def test_an_option_of_a_group_comes_back_in_the_group():
    assert parsed(command(), "x", "--quiet").common == Common(quiet=True)


def test_options_of_layers_come_back_by_layer():
    found = parsed(command(layers=("dedup",)), "x", "--mode", "stub").layer_options
    assert found["dedup"].keys() == layers.options("dedup").keys()
    assert found["dedup"]["mode"] == "stub"


def test_an_option_that_two_layers_have_is_told_apart_by_the_layer():
    two = command(layers=("prune", "summarize"))
    found = parsed(two, "x", "--summarize-keep-messages", "7").layer_options
    assert found["summarize"]["keep_messages"] == 7
    assert found["prune"]["keep_messages"] is None


def test_options_stand_in_the_order_of_the_fields():
    names = [option.name for option in parser(command(layers=("dedup",))).params]
    assert names == ["file", *layers.options("dedup"), "quiet", "folder"]


def test_what_is_not_offered_keeps_its_default():
    less = command(without=frozenset({"folder"}))
    assert parsed(less, "x").folder is None
    with pytest.raises(typer.TyperException, match="folder"):
        parsed(less, "x", "--folder", "y")


def test_a_field_without_a_default_is_required():
    with pytest.raises(typer.BadParameter, match="file"):
        parsed(command())


def test_the_docstring_is_the_help_and_the_example_follows():
    assert parser(command()).help == "Do it.\n\nAnd well.\n\nExample:\n\n\b\n    compactctl do it"


def test_the_help_of_a_layer_replaces_the_docstring():
    assert parser(command(help="Do more.")).help.startswith("Do more.\n\nExample:")


def test_the_default_chain_names_layers():
    assert set(layers.DEFAULT) <= set(layers.ORDER)
