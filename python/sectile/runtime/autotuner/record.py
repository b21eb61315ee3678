"""What was measured, on disk: one file for each kernel, key, device and build of the compiler.

A line for each thing as it becomes known, appended by one write, so a process that is killed loses at
most what it was doing:

    2c1b7e90 {"type": "about", "kernel": "matmul", "key": ["1024", "'fp16'"], "device": "NVIDIA H200 ..."}
    91d40c1f {"type": "samples", "ms": {"3f0a...": [0.431, 0.433], ...}}          after each round
    0be2aa31 {"type": "result", "id": "3f0a...", "config": "BLOCK: 128 ...", "status": "ok", "ms": [...]}
    77c9d310 {"type": "choice", "id": "3f0a...", "searched": "digest of all candidates", "verified": 12}

First comes the CRC of the rest. A line that is damaged or cut short is passed over, and the others hold.
Later lines count more. The configurations are not part of the file's name: a candidate that is added is
the only one to be measured.
"""

from __future__ import annotations

import json
import math
import os
import zlib

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
SUFFIX = ".tuning"

# The status of a result: "ok" was measured to the end, "rejected" while it was measured, "excluded" before it ran,
# "failed" by an error, "different" leaves results that are not those of the chosen one. In a choice, "verified" is
# how many candidates agreed on the results, 0 where none could be compared; records of old versions lack it.
STATUSES = ("ok", "rejected", "excluded", "failed", "different")


def _is_times(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, (int, float)) for v in value)


class Contents:
    """What the lines of a record come to.

    Attributes:
        results: the latest result of each candidate, by its id.
        samples: milliseconds of candidates without a result: of a run that was ended.
        choice: the latest choice, or None.
        damaged: how many lines could not be read.
    """

    def __init__(self) -> None:
        self.results: dict[str, dict] = {}
        self.samples: dict[str, list[float]] = {}
        self.choice: dict | None = None
        self.damaged = 0

    def take(self, row: dict) -> None:
        kind = row.get("type")
        if kind == "samples" and isinstance(row.get("ms"), dict):
            for name, times in row["ms"].items():
                if _is_times(times):
                    self.samples.setdefault(name, []).extend(times)
        elif kind == "result" and row.get("status") in STATUSES and isinstance(row.get("id"), str):
            measured = row["status"] in ("ok", "rejected")
            if measured and not (_is_times(row.get("ms")) and row["ms"]):
                self.damaged += 1
                return
            self.results[row["id"]] = row
            self.samples.pop(row["id"], None)
        elif kind == "choice" and isinstance(row.get("id"), str):
            self.choice = row
        elif kind == "restart":
            self.samples.clear()

    def milliseconds(self, name: str) -> float:
        """The median of a candidate; inf when it has none."""
        row = self.results.get(name)
        return row["ms"][0] if row and row["status"] in ("ok", "rejected") else math.inf


class Record:
    """The file of one tuning; without a path, the same in memory."""

    def __init__(self, path: str | None, about: dict[str, Any]) -> None:
        self.path = path
        self.about = about
        self.rows: list[dict] = []  # of a record that is not on disk
        self.is_writable = path is not None

    def load(self) -> Contents:
        contents = Contents()
        if self.path is not None:
            try:
                with open(self.path, "rb") as file:
                    lines = file.read().split(b"\n")
            except OSError:
                lines = []
            for line in lines:
                if line:
                    row = self._parse(line)
                    if row is None:
                        contents.damaged += 1
                    else:
                        contents.take(row)
        for row in self.rows:
            contents.take(row)
        return contents

    @staticmethod
    def _parse(line: bytes) -> dict | None:
        checksum, _, text = line.partition(b" ")
        try:
            if int(checksum, 16) != zlib.crc32(text):
                return None
            row = json.loads(text)
        except ValueError:
            return None
        return row if isinstance(row, dict) else None

    def append(self, row: dict) -> None:
        """Never fails: what cannot be written is kept in memory."""
        if not self.is_writable:
            self.rows.append(row)
            return
        try:
            self._write(row)
        except OSError:
            self.is_writable = False
            self.rows.append(row)

    def _write(self, row: dict) -> None:
        assert self.path is not None
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            descriptor = os.open(self.path, flags, 0o666)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            descriptor = os.open(self.path, flags, 0o666)
        try:
            size = os.fstat(descriptor).st_size
            data = b""
            if size == 0:
                data = _line({"type": "about", **self.about})
            elif os.pread(descriptor, 1, size - 1) != b"\n":
                data = b"\n"  # the last writer was cut short
            data += _line(row)
            written = os.write(descriptor, data)
            if written != len(data):
                raise OSError("short write")
        finally:
            os.close(descriptor)


def _line(row: dict) -> bytes:
    text = json.dumps(row, separators=(",", ":"), allow_nan=False).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)
