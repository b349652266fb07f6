"""The house: imports go one way, and each name is a module's own."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "compactctl"
UNITS = {path.stem for path in ROOT.iterdir() if path.is_dir() or path.suffix == ".py"}


def unit(module):
    """The file or package at the top of ``compactctl`` that a module belongs to."""
    return [*module.split("."), "__init__"][1]


def imports():
    """The units that each unit imports, for typing too."""
    found = {name: set() for name in UNITS}
    for path in ROOT.rglob("*.py"):
        own = unit(".".join(("compactctl", *path.relative_to(ROOT).with_suffix("").parts)))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compactctl"):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                found[own] |= {unit(name) for name in names} & UNITS - {own}
    return found


def reached(start, edges):
    found, waiting = set(), [start]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_no_unit_imports_one_that_imports_it():
    edges = imports()
    assert [name for name in UNITS if name in reached(name, edges)] == []


@pytest.mark.parametrize("name", ["formats", "layers", "rules", "view", "durable"])
def test_the_core_knows_no_command_and_no_bulk_run(name):
    assert not reached(name, imports()) & {"cli", "bulk"}


def test_formats_know_nothing_of_layers_rules_or_files():
    assert not reached("formats", imports()) & {"layers", "rules", "repair", "files", "tokens"}
