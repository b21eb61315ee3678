from sectile.as_triton import adopt, missing
from sectile.language import random as _random

globals().update(
    {name: value for name, value in vars(_random).items() if not name.startswith("__")}
)
adopt(__name__, vars(_random).values())

__getattr__ = missing(__name__)
