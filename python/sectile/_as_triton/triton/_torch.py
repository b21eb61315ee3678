"""What torch asks of Triton's IR, answered by Sectile: which arrays a kernel of the user's writes.

torch reads it out of TTIR, and where that fails takes every array for written. That is not only slow: where one
tensor is given for two parameters, its copies back go wrong. The compiler knows what is stored through, so torch's
function is replaced when its module is imported.
"""

import importlib.util
import sys

from sectile.runtime.remarks import ACCESSES

_MODULE = "torch._higher_order_ops.triton_kernel_wrap"


def adapt():
    """Replaces torch's function now, or when its module is imported."""
    if _MODULE in sys.modules:
        _replace(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds the one module as others would, and lets `_replace` follow its execution."""

    def find_spec(self, name, path=None, target=None):
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                _replace(module)

            spec.loader.exec_module = exec_module
        return spec


def _replace(module):
    if hasattr(module, "identify_accessed_tensors"):  # from torch 2.12 on
        of_torch = module.identify_accessed_tensors

        def identify_accessed_tensors(kernel, kwargs, tma_descriptor_metadata):
            known = _written(kernel, kwargs, tma_descriptor_metadata)
            if known is None:
                return of_torch(kernel, kwargs, tma_descriptor_metadata)
            from torch._inductor.dependencies import ReadWrites, StarDep
            from torch.utils._ordered_set import OrderedSet

            arrays, read, written = known
            accesses = ReadWrites(
                reads=OrderedSet(StarDep(name) for name in arrays if name in read),
                writes=OrderedSet(StarDep(name) for name in arrays if name in written),
                index_exprs=OrderedSet(),
            )
            return module.TensorAccesses(accesses, can_fuse_epilogue=False)

        module.identify_accessed_tensors = identify_accessed_tensors
    if hasattr(module, "identify_mutated_tensors"):
        mutated_of_torch = module.identify_mutated_tensors

        def identify_mutated_tensors(kernel, kwargs, tma_descriptor_metadata):
            known = _written(kernel, kwargs, tma_descriptor_metadata)
            if known is None:
                return mutated_of_torch(kernel, kwargs, tma_descriptor_metadata)
            arrays, _, written = known
            return [name for name in arrays if name in written]

        module.identify_mutated_tensors = identify_mutated_tensors


def _written(kernel, kwargs, descriptors):
    """(names of the arrays, those that the kernel loads from, those that it stores through); None where that cannot be
    known."""
    from sectile import JITFunction
    from sectile.language import int32
    from sectile.runtime.mocks import MockScalar, MockTensor

    constants = {}
    while not isinstance(kernel, JITFunction):
        configs = getattr(kernel, "configs", None)
        if configs:
            constants = {**configs[0].kwargs, **constants}
        kernel = getattr(kernel, "fn", None)
        if kernel is None:
            return None
    if descriptors:
        return None
    arrays, arguments = [], {}
    for name, value in {**constants, **kwargs}.items():
        if name not in kernel.arg_names:
            continue
        dtype = _dtype_of_array(value)
        if dtype is not None:
            arrays.append(name)
            # One that no other shares memory with: what a kernel writes does not depend on it.
            arguments[name] = MockTensor(dtype)
        elif type(value).__module__.partition(".")[0] in ("torch", "sympy") and not hasattr(
            value, "value"
        ):
            arguments[name] = MockScalar(int32)  # a number that is not known yet
        else:
            arguments[name] = value
    for target in ("cpu", "cuda", "hip"):
        try:
            compiled = kernel.warmup(**arguments, target=target)
        except Exception:
            continue
        names = [name for name, *_ in compiled.arguments]
        loads = [
            each["numbers"].get("argument", -1)
            for each in compiled.remarks
            if _is_load(each["kind"])
        ]
        # A load of which the argument is not known may be of any.
        read = {names[place] for place in loads} if min(loads, default=0) >= 0 else set(names)
        return arrays, read, {name for name, _, is_written in compiled.arguments if is_written}
    return None


def _is_load(kind):
    return ACCESSES.get(kind) in ("load", "atomic")


def _dtype_of_array(value):
    """The dtype of a tensor, or of what stands for one in torch's compiler; None for anything else."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.dtype
    if hasattr(value, "get_dtype") and hasattr(value, "get_size"):
        return value.get_dtype()
    return None
