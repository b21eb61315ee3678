"""Helpers of Triton's that programs import: names of dtypes, and paths into nested tuples."""

from sectile.as_triton import missing

TRITON_MAX_TENSOR_NUMEL = 1048576

_BITS = (1, 8, 16, 32, 64)
_LONG_NAMES = {
    **{name: "u1" for name in ("bool", "int1", "uint1", "i1")},
    "half": "fp16", "float": "fp32", "double": "fp64", "int": "i32", "bfloat16": "bf16", "void": "void",
    "float8_e4m3fn": "fp8e4nv", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2": "fp8e5", "float8_e5m2fnuz": "fp8e5b16",
    **{f"float8{kind}": f"fp8{kind}" for kind in ("e4nv", "e5", "e4b15", "e4b8", "e5b16")},
    **{f"float{bits}": f"fp{bits}" for bits in (16, 32, 64)},
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip
#: Every name of a dtype -> Triton's short one.
type_canonicalisation_dict = {**_LONG_NAMES, **{short: short for short in _LONG_NAMES.values()}}
_SHORT_BITS = {
    **{f"{sign}{bits}": bits for sign in "iu" for bits in _BITS},
    **{f"fp{bits}": bits for bits in (16, 32, 64)},
    **{f"fp8{kind}": 8 for kind in ("e4nv", "e4b15", "e4b8", "e5", "e5b16")},
    "bf16": 16, "void": 0,
}  # fmt: skip
BITWIDTH_DICT = {
    **_SHORT_BITS,
    **{name: _SHORT_BITS[short] for name, short in type_canonicalisation_dict.items()},
}


def canonicalize_dtype(dtype):
    """The short name of a dtype of torch's, NumPy's or the language's: ``"fp32"``."""
    return type_canonicalisation_dict[str(dtype).rpartition(".")[2]]


def canonicalize_ptr_dtype(dtype, is_const):
    return ("*k" if is_const else "*") + canonicalize_dtype(dtype)


def get_primitive_bitwidth(dtype):
    return BITWIDTH_DICT[dtype]


def is_power_of_two(x):
    return x & (x - 1) == 0


def validate_block_shape(shape):
    """The number of elements of a block; TypeError and ValueError as Triton's."""
    count = 1
    for place, extent in enumerate(shape):
        if not isinstance(extent, int):
            raise TypeError(
                f"Shape element {place} must have type `constexpr[int]`, got `constexpr[{type(extent)}]"
            )
        if not is_power_of_two(extent):
            raise ValueError(f"Shape element {place} must be a power of 2")
        count *= extent
    if count > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(
            f"numel ({count}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})"
        )
    return count


def get_iterable_path(iterable, path):
    for index in path:
        iterable = iterable[index]
    return iterable


def find_paths_if(iterable, pred):
    """Paths of the leaves of nested lists and tuples of which ``pred(path, leaf)`` holds, from left to right."""
    found = []

    def walk(path, value):
        if isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                walk((*path, index), item)
        elif pred(path, value):
            found.append(path)

    walk((), iterable)
    return found


def is_namedtuple(value):
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


__getattr__ = missing(__name__)
