"""What tools that read the package rely on."""

import ast
import inspect
import pathlib

import pytest

import pogo
from pogo import _pogo

HERE = pathlib.Path(pogo.__file__).parent


def test_the_stub_has_what_the_extension_has():
    assert (HERE / "py.typed").exists()
    stub = ast.parse((HERE / "_pogo.pyi").read_text())
    functions = {
        node.name: [arg.arg for arg in node.args.args] for node in stub.body if isinstance(node, ast.FunctionDef)
    }
    found = {name: value for name, value in vars(_pogo).items() if inspect.isbuiltin(value)}
    assert functions.keys() == found.keys()
    for name, arguments in functions.items():
        assert list(inspect.signature(found[name]).parameters) == arguments, name
    assert pogo.Error.__module__ == "pogo" and isinstance(pogo.__version__, str)


@pytest.mark.parametrize(
    "module", [pogo, pogo.explicit, pogo.voxel, pogo.spring, pogo.eikonal], ids=lambda m: m.__name__
)
def test_public_names_are_documented_and_annotated(module):
    assert module.__doc__
    names = module.__all__ if module is pogo else [name for name in vars(module) if not name.startswith("_")]
    own = [getattr(module, name) for name in names]
    own = [item for item in own if callable(item) and getattr(item, "__module__", "").startswith("pogo")]
    assert own
    for item in own:
        assert item.__doc__, item
        for member in vars(item).values() if inspect.isclass(item) else [item]:
            if inspect.isfunction(member) and not member.__name__.startswith("_"):
                assert member.__doc__, member
                assert inspect.signature(member).return_annotation is not inspect.Signature.empty, member
