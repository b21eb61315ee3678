"""What all lessons need besides Sectile: arrays where kernels run, and random numbers.

`xp` is the library that arrays come from: torch where there is a GPU, else NumPy. Lessons use only what
both call by the same name; kernels take the arrays of either. To stay on the CPU beside a GPU:

    CUDA_VISIBLE_DEVICES= python tutorials/01_vector_add.py
"""

import numpy as np

import sectile as st


def import_torch():
    """The module, or None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    return torch


def find_device():
    """("cuda" or "cpu", what people call it, the library of its arrays)"""
    driver = st.runtime.driver.active
    if driver.get_current_target().backend != "cuda":
        return "cpu", "the CPU", np
    torch = import_torch()
    if torch is None or not torch.cuda.is_available():
        return "cpu", "the CPU (there is a GPU, but no torch with CUDA to hold arrays there)", np
    return "cuda", driver.utils.get_device_properties(0)["name"], torch


DEVICE, DEVICE_NAME, xp = find_device()


def empty(*shape):
    """A float32 array on the device."""
    if xp is np:
        return np.empty(shape, np.float32)
    return xp.empty(shape, dtype=xp.float32, device=DEVICE)


def to_device(array):
    """A NumPy array as one on the device."""
    return array if xp is np else xp.from_numpy(array).to(DEVICE)


def normal(*shape, seed):
    """Normally distributed float32 numbers on the device, the same in every run."""
    return to_device(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


def to_numpy(array):
    """A copy on the host; waits for the kernels that write it."""
    return array.copy() if xp is np else array.cpu().numpy()


def to_torch(array):
    """The array as a torch tensor, in the same memory."""
    if xp is not np:
        return array
    import torch

    return torch.from_numpy(array)


if __name__ == "__main__":
    print(DEVICE_NAME)
