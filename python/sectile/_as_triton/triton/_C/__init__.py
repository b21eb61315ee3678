"""Triton's library in C++: there is none. `libtriton` has the few functions that programs call without IR."""

from . import libtriton
