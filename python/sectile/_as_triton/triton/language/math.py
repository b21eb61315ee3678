from sectile.as_triton import adopt, missing
from sectile.language import math as _math

globals().update({name: value for name, value in vars(_math).items() if not name.startswith("__")})
adopt(__name__, vars(_math).values())

__getattr__ = missing(__name__)
