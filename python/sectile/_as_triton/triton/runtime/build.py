"""Triton compiles launchers in C; Sectile has none to compile."""

from sectile.as_triton import missing

__getattr__ = missing(__name__)
