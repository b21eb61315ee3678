"""`compile`, and what it compiles."""

from __future__ import annotations

from ..errors import with_article
from ..runtime.compiled import CompiledKernel
from ..runtime.driver import GPUTarget, active
from ..runtime.jit import JITFunction
from ..runtime.mocks import MockScalar, MockTensor

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["ASTSource", "CompiledKernel", "compile"]


def _mock(kernel: str, name: str, text: Any) -> Any:
    """What stands for an argument of the kind `text`: ``"*fp32:16"``, ``"i32"``, ``"tensordesc<fp16[128, 64]>"``, or a
    constant."""
    if isinstance(text, tuple):
        items = (_mock(kernel, f"{name}[{index}]", item) for index, item in enumerate(text))
        return text._make(items) if hasattr(text, "_make") else tuple(items)
    if not isinstance(text, str):
        return text
    from .._native import parse_kind
    from ..language._dtypes import str_to_ty
    from ..runtime.descriptors import kind_of_text

    try:
        if (descriptor := kind_of_text(text)) is not None:
            return _mock(kernel, name, descriptor)
        kind, is_aligned, is_one = parse_kind(text)
    except ValueError as error:
        raise ValueError(f"{kernel}: {name}: {error}") from None
    if is_one:
        return 1
    mock = MockTensor if kind.startswith("*") else MockScalar
    return mock(str_to_ty(kind), aligned=is_aligned)


class ASTSource:
    """A kernel and the kinds of its arguments.

        sectile.compile(ASTSource(kernel, {"x": "*fp32", "n": "i32"}, {"BLOCK": 64}))

    Args:
        fn: a `JITFunction`.
        signature: for each parameter its kind, as for `compile`.
        constexprs: the values of the others, by name or by ``(position,)``; of items of tuples by
            ``(position, item)``.
        attrs: ``{(position,): [["tt.divisibility", 16]]}`` for what is a multiple of 16; the kinds
            ``"*fp32:16"`` say the same.
    """

    ext = "ttir"  # what Triton's programs may ask for; there is no such text here

    def __init__(
        self,
        fn: JITFunction,
        signature: Mapping[str, Any],
        constexprs: Mapping[Any, Any] | None = None,
        attrs: Mapping[tuple[int, ...], Any] | None = None,
    ) -> None:
        if not isinstance(fn, JITFunction):
            raise TypeError(
                f"ASTSource: expected a @jit function, got {with_article(type(fn).__name__)}"
            )
        for name in signature:
            if not isinstance(name, str):
                raise TypeError(f"{fn.__name__}: the signature has the key {name!r}, not a name")
        self.fn = fn
        self.name = fn.__name__
        self.signature = dict(signature)
        names = fn.arg_names
        self.constants: dict[tuple[int, ...], Any] = {
            (names.index(key),) if isinstance(key, str) else tuple(key): value
            for key, value in (constexprs or {}).items()
        }
        self.attrs = dict(attrs or {})
        self._is_overlapping = False
        for path in (*self.constants, *self.attrs):
            if not path or not 0 <= path[0] < len(names):
                raise ValueError(f"{self.name}: {path} is no parameter of the kernel")

    def overlapping(self) -> ASTSource:
        """The same, for arrays that share memory, each with each."""
        other = ASTSource(self.fn, self.signature, None, self.attrs)
        other.constants, other._is_overlapping = self.constants, True
        return other

    def hash(self) -> str:
        """A text that differs between sources and is the same in every process."""
        from .. import _native

        def text(value: Any) -> str:
            return value.cache_key if hasattr(value, "cache_key") else repr(value)

        return _native.digest(
            [self.fn.cache_key]
            + [f"{name}: {kind}" for name, kind in sorted(self.signature.items())]
            + [f"{path}: {text(value)}" for path, value in sorted(self.constants.items())]
            + [f"{path}: {value}" for path, value in sorted(self.attrs.items())]
        )

    def _arguments(self) -> dict[str, Any]:
        """What `compile` takes as a signature and constants, in one."""
        from ..language import constexpr

        names = self.fn.arg_names
        params = {parameter.name: parameter for parameter in self.fn.params}

        def argument(name: str, kind: Any, path: tuple[int, ...]) -> Any:
            if path in self.constants:
                # A parameter that is no tl.constexpr is folded only if the value is marked, or is 1.
                value = self.constants[path]
                is_plain = isinstance(value, (bool, int, float)) and not params[name].is_constexpr
                is_one = type(value) is int and value == 1 and not params[name].do_not_specialize
                return constexpr(value) if is_plain and not is_one else value
            if isinstance(kind, tuple):
                items = [argument(name, item, (*path, index)) for index, item in enumerate(kind)]
                return kind._make(items) if hasattr(kind, "_make") else tuple(items)
            divisible = any(
                tuple(attribute) == ("tt.divisibility", 16)
                for attribute in self.attrs.get(path, ())
            )
            hinted = divisible and isinstance(kind, str) and ":" not in kind
            mock = _mock(self.name, name, kind + ":16" if hinted else kind)
            if self._is_overlapping and isinstance(mock, MockTensor):
                place = (1 << 20) + 32 * path[0]
                mock.memory = (place, 1 << 24)
            return mock

        arguments: dict[str, Any] = {}
        for place, name in enumerate(names):
            kind = self.signature.get(name, "constexpr")
            if kind != "constexpr" or (place,) in self.constants:
                arguments[name] = argument(name, kind, (place,))
        return arguments


def _target_text(target: GPUTarget) -> str:
    """As launches name it."""
    if target.backend == "cpu":
        return "cpu"
    if target.backend not in ("cuda", "hip"):
        raise ValueError(
            f"compile: there is no back end {target.backend!r}\n  help: there are 'cpu', 'cuda' and 'hip'"
        )
    return f"{target.backend}:{target.arch}"


def compile_for_any_memory(
    source: ASTSource, target: str | GPUTarget | None, options: Mapping[str, Any]
) -> CompiledKernel:
    """Compiles code that stands alone for arrays that lie apart, and where that is another, for arrays that do not.

    `CompiledKernel.launch` takes the code that fits. What a launch of a `JITFunction` compiles when it is needed has
    to be there for code that may be launched in another process.
    """
    usual = compile(source, target, options=options)
    if usual.metadata.alias_hazards:
        usual._code = usual._code.with_aliased(
            compile(source.overlapping(), target, options=options)._code
        )
    return usual


def compile(
    kernel: JITFunction | ASTSource | None = None,
    signature: Any = None,
    constexprs: Any = None,
    target: str | GPUTarget | None = None,
    *,
    src: ASTSource | None = None,
    options: Mapping[str, Any] | None = None,
    **further: Any,
) -> CompiledKernel:
    """Compiles one variant of `kernel` without arguments to run it on.

        sectile.compile(kernel, {"x": "*fp32:16", "n": "i32"}, {"BLOCK": 64}, "cuda:90", num_warps=8)
        sectile.compile(ASTSource(...), GPUTarget("cuda", 90, 32), {"num_warps": 8})     # as in Triton

    Args:
        kernel: a `JITFunction`; or an `ASTSource`, of which `src` is another name, followed by
            `target` and `options`.
        signature: for each parameter its kind: ``"*fp32"`` a pointer, ``"i32"`` a number, with
            ``":16"`` for what is a multiple of 16 and ``":1"`` for an integer that is 1 (`inspect`,
            ``kernel.variants()`` and messages write kinds like this, too; for ``fp32`` one may write
            ``f32`` or ``float32``);
            ``"constexpr"`` for one in `constexprs`; a tuple of these for a tuple; anything else is a
            constant.
        constexprs: values of the compile-time parameters.
        target: ``"cpu"``, ``"cuda"`` (the first GPU at hand) or ``"cuda:90"``, with the compute
            capability, ``"hip:gfx942"``, or a `GPUTarget`; needs no GPU. When None: ``"cpu"`` for a `JITFunction`, the
            device at hand for an `ASTSource`.
        options, further: as in a launch: ``num_warps=8``.

    Returns:
        The compiled kernel: ``.asm``, ``.metadata``, ``.name``; ``compiled[grid](...)`` launches it.

    Example:
        @st.jit
        def fill(x, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(x + i, 1.0, mask=i < n)

        compiled = st.compile(fill, {"x": "*fp32:16", "n": "i32"}, {"BLOCK": 64}, target="cuda:90")
        print(".visible .entry fill" in compiled.asm["ptx"])  # True
    """
    source = kernel if src is None else src
    settings = {**(options or {}), **further}
    if isinstance(source, ASTSource):
        target = target if signature is None else signature
        settings = {**(constexprs or {}), **settings}
        arguments = source._arguments()
        kernel = source.fn
        if target is None:
            target = active.get_current_target()
    elif isinstance(source, JITFunction):
        kernel = source
        arguments = dict(constexprs or {})
        for name, kind in (signature or {}).items():
            if kind != "constexpr":
                arguments[name] = _mock(kernel.__name__, name, kind)
    else:
        raise TypeError(
            f"compile: expected a @jit function, got {with_article(type(source).__name__)}"
        )
    if target is not None:
        settings["target"] = _target_text(target) if isinstance(target, GPUTarget) else target
    return kernel.warmup(**arguments, **settings)
