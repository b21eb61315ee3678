from sectile.errors import TritonError

__all__ = ["TritonError"]
