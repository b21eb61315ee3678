"""Files by key, for programs that keep their own beside Triton's. Sectile's kernels are in its own cache
(`sectile cache`), below the same folder."""

import base64
import hashlib
import json
import os
import uuid
from abc import ABC, abstractmethod

from sectile.as_triton import missing

from .. import knobs


def triton_key():
    """A text that differs between builds."""
    from sectile import build_id

    return build_id()


def _base32(key):
    """A digest as letters that are good for names of folders."""
    return base64.b32encode(bytes.fromhex(key)).decode("utf-8").rstrip("=")


def get_cache_key(src, backend, backend_options, env_vars):
    return "-".join(
        (
            triton_key(),
            src.hash(),
            backend.hash(),
            str(getattr(backend_options, "__dict__", "")),
            str(env_vars),
        )
    )


class CacheManager(ABC):
    def __init__(self, key, override=False, dump=False):
        pass

    @abstractmethod
    def get_file(self, filename):
        """Its path, or None."""

    @abstractmethod
    def put(self, data, filename, binary=True):
        """Writes a file; returns its path."""

    @abstractmethod
    def get_group(self, filename):
        """{name: path} of what was put together, or None."""

    @abstractmethod
    def put_group(self, filename, group):
        """Keeps {name: path}."""


class FileCacheManager(CacheManager):
    """A folder of files for each key."""

    def __init__(self, key, override=False, dump=False):
        self.key = key
        base = (
            knobs.cache.dump_dir
            if dump
            else knobs.cache.override_dir
            if override
            else knobs.cache.dir
        )
        if not base:
            raise RuntimeError("Could not create or locate cache dir")
        self.cache_dir = os.path.join(base, key)
        self.lock_path = None if override else os.path.join(self.cache_dir, "lock")
        if not override:
            os.makedirs(self.cache_dir, exist_ok=True)

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename):
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        return self._make_path(filename) if self.has_file(filename) else None

    def get_group(self, filename):
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path, encoding="utf-8") as file:
            children = json.load(file).get("child_paths")
        return children and {name: path for name, path in children.items() if os.path.exists(path)}

    def put_group(self, filename, group):
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}", binary=False)

    def put(self, data, filename, binary=True):
        path = self._make_path(filename)
        content = data if isinstance(data, bytes) else str(data).encode()
        # Another process may be reading: the file is whole when it has its name.
        unfinished = f"{path}.tmp.{os.getpid()}_{uuid.uuid4()}"
        with open(unfinished, "wb") as file:
            file.write(content)
        os.replace(unfinished, path)
        return path


class RemoteCacheBackend:
    """A cache beyond this machine; for Sectile's kernels see ``SECTILE_CACHE_LAYERS``."""

    def __init__(self, key):
        pass

    @abstractmethod
    def get(self, filenames):
        """{name: bytes} of those there are."""

    @abstractmethod
    def put(self, filename, data):
        """Keeps bytes."""


class RedisRemoteCacheBackend(RemoteCacheBackend):
    def __init__(self, key):
        import redis

        self._key = key
        self._key_format = knobs.redis.key_format
        self._redis = redis.Redis(host=knobs.redis.host, port=knobs.redis.port)

    def _name(self, filename):
        return self._key_format.format(key=self._key, filename=filename)

    def get(self, filenames):
        found = self._redis.mget([self._name(each) for each in filenames])
        return {name: data for name, data in zip(filenames, found) if data is not None}

    def put(self, filename, data):
        self._redis.set(self._name(filename), data)


def get_cache_manager(key):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key))


def get_override_manager(key):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), override=True)


def get_dump_manager(key):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), dump=True)


def make_so_cache_key(version_hash, signature, constants, ids, **kwargs):
    text = f"{version_hash}-{sorted(signature.items())}-{constants}-{ids}-{sorted(kwargs.items())}"
    return _base32(hashlib.sha256(text.encode()).hexdigest())


__getattr__ = missing(__name__)
