"""Triton's words for what Sectile refuses.

An error keeps Sectile's text, with its caret and remedy. A second line has Triton's words, and `__cause__` the
exception that Triton would have raised inside: programs and tests look for either.
"""

from sectile import errors


def speak():
    """Errors of kernels have Triton's words, too, from now on."""
    errors.companion = lambda message, diagnostics: None
