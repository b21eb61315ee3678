from sectile.as_triton import missing
from sectile.errors import TritonError
from sectile.runtime.errors import AutotunerError, InterpreterError, OutOfResources, PTXASError

__all__ = ["AutotunerError", "InterpreterError", "OutOfResources", "PTXASError", "TritonError"]

__getattr__ = missing(__name__)
