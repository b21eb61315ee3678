from sectile.as_triton import adopt, missing
from sectile.language import standard as _standard

globals().update(
    {name: value for name, value in vars(_standard).items() if not name.startswith("__")}
)
from sectile.language import bitonic_merge, reduce_or  # noqa: E402

adopt(__name__, vars(_standard).values())

__getattr__ = missing(__name__)
