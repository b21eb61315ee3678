"""Element types: ``tl.float32``, ``tl.int64``, ``tl.pointer_type(tl.float16)`` ..."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

    from ._tensor import Value, tensor


class dtype:
    """The type of one element of a tile.

    ``name`` is what signatures and error messages print (``"fp32"``, ``"int32"``, ``"uint8"``). Two
    dtypes are equal when their names are. Inside a kernel a dtype may be called to make a scalar
    constant of that type: ``tl.int64(0)``.

    Example:
        @st.jit
        def kernel(out, x):
            v = tl.load(x)
            if v.dtype.is_floating():  # decided while compiling
                tl.store(out, 1)
            else:
                tl.store(out, v.dtype.primitive_bitwidth)

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, np.zeros(1, np.int16))
        print(out)  # [16]
    """

    __sectile_dtype__ = True
    __slots__ = ("name", "primitive_bitwidth", "_family")

    SINT_TYPES = ("int8", "int16", "int32", "int64")
    UINT_TYPES = ("int1", "uint8", "uint16", "uint32", "uint64")
    FP_TYPES = (
        "fp8e4nv",
        "fp8e4b8",
        "fp8e5",
        "fp8e5b16",
        "fp8e4b15",
        "fp16",
        "bf16",
        "fp32",
        "fp64",
    )
    STANDARD_FP_TYPES = ("fp16", "bf16", "fp32", "fp64")
    OTHER_TYPES = ("void",)

    if TYPE_CHECKING:
        #: What a pointer points to. In a kernel every type is a `dtype` for checkers.
        element_ty: dtype

    def __init__(self, name: str) -> None:
        name = _ALIASES.get(name, name)
        if name not in _SCALARS:
            raise ValueError(f"unknown dtype {name!r}; known are {', '.join(_SCALARS)}")
        self.name: str = name
        self._family, self.primitive_bitwidth = _SCALARS[name]

    @property
    def itemsize(self) -> int:
        """Bytes one element takes in memory; a truth value takes one."""
        return max(1, self.primitive_bitwidth // 8)

    @property
    def int_bitwidth(self) -> int:
        """Bits of an integer."""
        if not self.is_int():
            raise AttributeError(f"{self.name} is no integer: it has no int_bitwidth")
        return self.primitive_bitwidth

    @property
    def fp_mantissa_width(self) -> int:
        """Bits of a float's fraction, without the leading one."""
        return self._float_layout("fp_mantissa_width")[0]

    @property
    def exponent_bias(self) -> int:
        """What is added to the exponent of a float where it is stored."""
        return self._float_layout("exponent_bias")[1]

    class KIND:
        """What `kind` answers."""

        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    class SIGNEDNESS:
        """What `int_signedness` answers."""

        SIGNED = 0
        UNSIGNED = 1

    def kind(self) -> int:
        """One of `KIND`: what a number of this type is."""
        if not (self.is_int() or self.is_floating()):
            raise AttributeError(f"{self.name} is no type of numbers: it has no kind")
        if self.is_floating():
            return self.KIND.FLOATING
        return self.KIND.BOOLEAN if self.is_bool() else self.KIND.INTEGRAL

    @property
    def int_signedness(self) -> int:
        """One of `SIGNEDNESS`, of an integer."""
        if not self.is_int():
            raise AttributeError(f"{self.name} is no integer: it has no int_signedness")
        return self.SIGNEDNESS.SIGNED if self.is_int_signed() else self.SIGNEDNESS.UNSIGNED

    @property
    def cache_key_part(self) -> str:
        """The name, as keys of caches hold it."""
        return self.name

    @staticmethod
    def is_dtype(type_str: str) -> bool:
        """Whether a scalar type is called so: ``"fp32"``."""
        return type_str in _SCALARS

    def _float_layout(self, attribute: str) -> tuple[int, int]:
        if not self.is_floating():
            raise AttributeError(f"{self.name} is no float: it has no {attribute}")
        return _FLOAT_LAYOUTS[self.name]

    def codegen_name(self) -> str:
        """The name in Python's source: ``"float32"``, ``"bfloat16"``, ``"int8"``."""
        return _PYTHON_NAMES.get(self.name, self.name)

    def mangle(self) -> str:
        """The name as part of others, as Triton makes it: ``"i32"``, ``"u1"``, ``"fp32"``, ``"V"``."""
        if self.is_ptr():
            return "P" + self.element_ty.mangle()
        if self.is_int():
            return f"{'i' if self.is_int_signed() else 'u'}{self.primitive_bitwidth}"
        return "V" if self.name == "void" else self.name

    def get_int_max_value(self) -> int:
        """The greatest number of an integer type."""
        return 2 ** (self.int_bitwidth - self.is_int_signed()) - 1

    def get_int_min_value(self) -> int:
        """The least number of an integer type."""
        return -(2 ** (self.int_bitwidth - 1)) if self.is_int_signed() else 0

    def is_void(self) -> bool:
        return self.name == "void"

    @property
    def scalar(self) -> dtype:
        """The element type itself (tiles answer with the type of their elements)."""
        return self

    def is_floating(self) -> bool:
        """True for fp8, fp16, bf16, fp32 and fp64."""
        return self._family == "float"

    def is_standard_floating(self) -> bool:
        """True for fp16, bf16, fp32 and fp64."""
        return self._family == "float" and self.primitive_bitwidth >= 16

    def is_fp8(self) -> bool:
        """True for the eight-bit floating-point kinds."""
        return self._family == "float" and self.primitive_bitwidth == 8

    def is_fp8e4nv(self) -> bool:
        return self.name == "fp8e4nv"

    def is_fp8e4b8(self) -> bool:
        return self.name == "fp8e4b8"

    def is_fp8e5(self) -> bool:
        return self.name == "fp8e5"

    def is_fp8e5b16(self) -> bool:
        return self.name == "fp8e5b16"

    def is_fp8e4b15(self) -> bool:
        return self.name == "fp8e4b15"

    def is_fp16(self) -> bool:
        return self.name == "fp16"

    def is_bf16(self) -> bool:
        return self.name == "bf16"

    def is_fp32(self) -> bool:
        return self.name == "fp32"

    def is_fp64(self) -> bool:
        return self.name == "fp64"

    def is_int(self) -> bool:
        """True for every integer, truth values included."""
        return self._family in ("int", "uint", "bool")

    def is_int1(self) -> bool:
        return self.name == "int1"

    def is_bool(self) -> bool:
        return self.name == "int1"

    def is_int8(self) -> bool:
        return self.name == "int8"

    def is_int16(self) -> bool:
        return self.name == "int16"

    def is_int32(self) -> bool:
        return self.name == "int32"

    def is_int64(self) -> bool:
        return self.name == "int64"

    def is_uint8(self) -> bool:
        return self.name == "uint8"

    def is_uint16(self) -> bool:
        return self.name == "uint16"

    def is_uint32(self) -> bool:
        return self.name == "uint32"

    def is_uint64(self) -> bool:
        return self.name == "uint64"

    def is_int_signed(self) -> bool:
        return self._family == "int"

    def is_int_unsigned(self) -> bool:
        return self._family == "uint"

    def is_ptr(self) -> bool:
        return False

    def is_block(self) -> bool:
        return False

    def is_const(self) -> bool:
        return False

    def __call__(self, value: Value) -> tensor:
        """A scalar constant of this type; only inside a kernel."""
        from ._builtin import refuse

        refuse(_PYTHON_NAMES.get(self.name, self.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"sectile.language.{_PYTHON_NAMES.get(self.name, self.name)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.name,))


# name: (family, bits)
_SCALARS = {
    "void": ("void", 0),
    "int1": ("bool", 1),
    "int8": ("int", 8),
    "int16": ("int", 16),
    "int32": ("int", 32),
    "int64": ("int", 64),
    "uint8": ("uint", 8),
    "uint16": ("uint", 16),
    "uint32": ("uint", 32),
    "uint64": ("uint", 64),
    "fp8e4nv": ("float", 8),
    "fp8e4b8": ("float", 8),
    "fp8e5": ("float", 8),
    "fp8e5b16": ("float", 8),
    "fp8e4b15": ("float", 8),
    "fp16": ("float", 16),
    "bf16": ("float", 16),
    "fp32": ("float", 32),
    "fp64": ("float", 64),
}

# name: (bits of the fraction, bias of the exponent)
_FLOAT_LAYOUTS = {
    "fp8e4nv": (3, 7), "fp8e4b8": (3, 8), "fp8e5": (2, 15), "fp8e5b16": (2, 16),
    "fp8e4b15": (3, 15),
    "fp16": (10, 15), "bf16": (7, 127), "fp32": (23, 127), "fp64": (52, 1023),
}  # fmt: skip

_ALIASES = {
    "i1": "int1", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "bool": "int1", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
    "float8e4nv": "fp8e4nv", "float8e5": "fp8e5", "float8e4b8": "fp8e4b8", "float8e5b16": "fp8e5b16",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2fnuz": "fp8e5b16", "float8e4b15": "fp8e4b15",
    "f16": "fp16", "f32": "fp32", "f64": "fp64", "half": "fp16", "float": "fp32", "double": "fp64",
    "f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5", "f8e4m3fnuz": "fp8e4b8", "f8e5m2fnuz": "fp8e5b16",
    "f8e4m3b15": "fp8e4b15",
    "u1": "int1",
}  # fmt: skip

_PYTHON_NAMES = {
    "fp8e4nv": "float8e4nv", "fp8e4b8": "float8e4b8", "fp8e5": "float8e5", "fp8e5b16": "float8e5b16",
    "fp8e4b15": "float8e4b15", "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
}  # fmt: skip


class pointer_type(dtype):
    """The type of a pointer to elements of `element_ty`; ``const`` ones may not be stored through."""

    __slots__ = ("element_ty", "const")

    def __init__(self, element_ty: dtype, const: bool = False) -> None:
        if not getattr(element_ty, "__sectile_dtype__", False) or element_ty.is_ptr():
            raise TypeError(f"pointer_type: element_ty must be a scalar dtype, not {element_ty!r}")
        self.element_ty = element_ty
        self.const = bool(const)
        self.name = ("*k" if const else "*") + element_ty.name
        self._family, self.primitive_bitwidth = "pointer", 64

    def is_ptr(self) -> bool:
        return True

    def is_const(self) -> bool:
        return self.const

    def __repr__(self) -> str:
        const = ", const=True" if self.const else ""
        return f"sectile.language.pointer_type({self.element_ty!r}{const})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (pointer_type, (self.element_ty, self.const))


def str_to_ty(name: str, c: Any = None) -> dtype:
    """The dtype of a name as in signatures: ``"fp32"``, ``"i64"``, ``"*fp16"``, ``"*kfp16"``.

    `c` is taken and ignored, as in Triton, where it holds the aggregate types of a kernel.
    """
    if not name.startswith("*"):
        return dtype(name)
    element = name[1:].removeprefix("k")
    return pointer_type(dtype(element), const=len(element) < len(name) - 1)


class block_type:
    """The type of a tile: an element type and a shape. For annotations and checks."""

    __slots__ = ("element_ty", "shape")

    def __init__(self, element_ty: dtype, shape: tuple[int, ...]) -> None:
        self.element_ty = element_ty
        self.shape = tuple(shape)

    @property
    def scalar(self) -> dtype:
        return self.element_ty

    @property
    def name(self) -> str:
        return str(self)

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take in memory."""
        return self.numel * self.element_ty.itemsize

    def get_block_shapes(self) -> tuple[int, ...]:
        return self.shape

    def with_element_ty(self, element_ty: dtype) -> block_type:
        """The type of a tile of the same shape, with other elements."""
        return block_type(element_ty, self.shape)

    def mangle(self) -> str:
        """The name as part of others, as Triton makes it: ``"fp32S64_32S"``."""
        return f"{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}S"

    @property
    def numel(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def is_block(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, block_type) and (self.element_ty, self.shape) == (
            other.element_ty,
            other.shape,
        )

    def __hash__(self) -> int:
        return hash((self.element_ty, self.shape))

    def __str__(self) -> str:
        return f"<{list(self.shape)}, {self.element_ty}>"


class tuple_type:
    """The type of a tuple: those of its items, and their names where it is a named one."""

    __slots__ = ("types", "fields")

    def __init__(self, types: Any, fields: Any = None) -> None:
        self.types = tuple(types)
        self.fields = list(fields) if fields else [""] * len(self.types)

    def __iter__(self) -> Any:
        return iter(self.types)

    def __getitem__(self, index: int) -> Any:
        return self.types[index]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, tuple_type)
            and self.types == other.types
            and self.fields == other.fields
        )

    def __hash__(self) -> int:
        return hash(self.types)

    def __str__(self) -> str:
        return f"[{','.join(map(str, self.types))}]"

    def mangle(self) -> str:
        """The name as part of others, as Triton makes it."""
        return "T" + "_".join(each.mangle() for each in self.types) + "T"


class slice_type(dtype):
    """The type of a slice. All are equal."""

    __slots__ = ()

    def __init__(self) -> None:
        self.name = "slice_type"
        self._family, self.primitive_bitwidth = "void", 0

    def __reduce__(self) -> tuple[Any, ...]:
        return (slice_type, ())


void = dtype("void")
int1 = dtype("int1")
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float8e4nv = dtype("fp8e4nv")
float8e4b8 = dtype("fp8e4b8")
float8e5 = dtype("fp8e5")
float8e5b16 = dtype("fp8e5b16")
float8e4b15 = dtype("fp8e4b15")
float16 = dtype("fp16")
bfloat16 = dtype("bf16")
float32 = dtype("fp32")
float64 = dtype("fp64")
pi32_t = pointer_type(int32)
