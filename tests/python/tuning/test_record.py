"""The record of a tuning on disk, and what damage does to it: cost the damaged line, and nothing else."""

import math
import multiprocessing
import os
import random

import pytest

from sectile.runtime.autotuner.record import Record

pytestmark = pytest.mark.host

ABOUT = {"kernel": "k", "key": ["1"], "device": "d", "build": "b"}


def result(name, median, status="ok"):
    return {"type": "result", "id": name, "status": status, "ms": [median] * 3, "config": name}


def filled(path):
    record = Record(str(path), ABOUT)
    record.append({"type": "samples", "ms": {"a": [1.0, 2.0], "c": [3.0]}})
    record.append(result("a", 1.5))
    record.append({"type": "samples", "ms": {"c": [4.0]}})
    record.append({"type": "result", "id": "b", "status": "failed", "reason": "no"})
    record.append({"type": "choice", "id": "a", "searched": "s"})
    return record


def test_what_is_written_is_read(tmp_path):
    contents = filled(tmp_path / "deep" / "r.tuning").load()
    assert contents.milliseconds("a") == 1.5
    assert contents.milliseconds("b") == math.inf and contents.results["b"]["reason"] == "no"
    assert contents.samples == {"c": [3.0, 4.0]}
    assert contents.choice["id"] == "a" and contents.damaged == 0


def test_later_lines_count_more(tmp_path):
    record = filled(tmp_path / "r.tuning")
    record.append(result("a", 9.0))
    record.append({"type": "choice", "id": "b", "searched": "t"})
    record.append({"type": "restart"})
    contents = record.load()
    assert contents.milliseconds("a") == 9.0 and contents.choice["id"] == "b"
    assert contents.samples == {}


def test_every_byte_flipped(tmp_path):
    path = tmp_path / "r.tuning"
    filled(path)
    whole = path.read_bytes()
    good = Record(str(path), ABOUT).load()
    for index in range(len(whole)):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 0x15]) + whole[index + 1 :])
        contents = Record(str(path), ABOUT).load()
        # No value that was not written, ever.
        for name, row in contents.results.items():
            assert row == good.results[name]
        assert contents.choice in (None, good.choice)
        assert set(contents.samples) <= {"a", "c"}
        for name, times in contents.samples.items():
            assert set(times) <= {1.0, 2.0} if name == "a" else set(times) <= {3.0, 4.0}
        lost = 5 - len(contents.results) - (contents.choice is not None)
        assert contents.damaged >= 1 or lost == 2, index  # a newline that is gone joins two lines


@pytest.mark.parametrize("size", [0, 1, 9, 40, 100, 200])
def test_cut_short_and_written_on(tmp_path, size):
    path = tmp_path / "r.tuning"
    filled(path)
    path.write_bytes(path.read_bytes()[:size])
    record = Record(str(path), ABOUT)
    record.append(result("z", 7.0))
    contents = record.load()
    assert contents.milliseconds("z") == 7.0
    assert contents.damaged <= 1


def test_garbage_is_no_record(tmp_path):
    path = tmp_path / "r.tuning"
    path.write_bytes(random.Random(1).randbytes(5000))
    contents = Record(str(path), ABOUT).load()
    assert not contents.results and contents.choice is None and contents.damaged > 0


def test_rows_that_make_no_sense_are_passed_over(tmp_path):
    record = Record(str(tmp_path / "r.tuning"), ABOUT)
    record.append({"type": "result", "id": "a", "status": "ok"})  # no times
    record.append({"type": "result", "id": "a", "status": "marvellous", "ms": [1.0]})
    record.append({"type": "samples", "ms": {"a": ["fast"]}})
    record.append({"type": "choice"})
    contents = record.load()
    assert not contents.results and not contents.samples and contents.choice is None


def test_a_folder_that_cannot_be_written(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    record = Record(str(blocker / "r.tuning"), ABOUT)
    record.append(result("a", 1.0))
    assert record.load().milliseconds("a") == 1.0  # known to this process, and no error


def test_without_a_path(tmp_path):
    record = Record(None, ABOUT)
    record.append(result("a", 1.0))
    assert record.load().milliseconds("a") == 1.0
    assert not list(tmp_path.iterdir())


def append_many(path, name):
    record = Record(path, ABOUT)
    for i in range(200):
        record.append(result(f"{name}-{i}", 1.0 + i))


def test_processes_append_at_once(tmp_path):
    path = str(tmp_path / "r.tuning")
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=append_many, args=(path, n)) for n in "abcd"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    contents = Record(path, ABOUT).load()
    assert len(contents.results) == 800 and contents.damaged == 0
    assert os.path.getsize(path) > 800 * 50
