"""Every name of the language stands for something that the compiler has, or says that it is not there yet."""

import pytest
from frontend_support import evaluate, jit

import sectile.language as tl
from sectile.language.extra import libdevice

OPERATIONS = [
    (module, name)
    for module in ("tl", "tl.extra.libdevice")
    for name in (tl if module == "tl" else libdevice).__all__
    if callable(getattr(tl if module == "tl" else libdevice, name))
]


def kernel_that_calls(module, name):
    def kernel(x):
        pass

    return type(jit(kernel))(kernel, source=f"def kernel(x):\n    {module}.{name}()\n")


@pytest.mark.parametrize("module, name", OPERATIONS)
def test_every_operation_is_the_compilers(module, name):
    stub = getattr(tl if module == "tl" else libdevice, name)
    text = " ".join(
        diagnostic["text"]
        for diagnostic in evaluate(kernel_that_calls(module, name), x="*fp32")["diagnostics"]
    )
    not_yet = getattr(stub, "__sectile_not_yet__", None)
    if not_yet:
        assert not_yet[0] in text
    elif hasattr(stub, "__sectile_builtin__"):
        assert "has no operation" not in text, text
        assert "not in Sectile yet" not in text, text
