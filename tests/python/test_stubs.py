"""The stubs name what the compiled module has, and everything says what it is."""

import ast
import inspect
import pathlib

import beamsight
from beamsight import _beamsight as core


def test_stubs_and_module_name_the_same():
    text = pathlib.Path(beamsight.__file__).with_name("_beamsight.pyi").read_text()
    stubs = {node.name: node for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    public = {name for name in dir(core) if not name.startswith("__")}
    assert set(stubs) == public, set(stubs) ^ public
    for name, node in stubs.items():
        own = getattr(core, name)
        if isinstance(node, ast.ClassDef):
            members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            real = {member for member in vars(own) if not member.startswith("__")}
            assert {member for member in members if not member.startswith("__")} == real, name
        else:
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            assert [argument.arg for argument in arguments] == list(inspect.signature(own).parameters), name


def test_everything_that_is_offered_says_what_it_is():
    for name in beamsight.__all__:
        if name != "__version__":
            assert inspect.getdoc(getattr(beamsight, name)), name
