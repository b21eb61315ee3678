"""Devices of the suite, and the GPUs that its kernels are compiled for.

    pytest --device=all        what there is: the CPU, and "cuda" where a GPU can be used (the default)
    pytest --device=cuda       on a GPU only; without one every test is skipped, with the reason
    pytest --device=hip:gfx942 an AMD GPU, emulated (emulated_hip.py)
    pytest --targets=all       each kernel that a test launches is compiled for every GPU, not for one; "none"

Tests in FOLDERS run once for each device: launches copy their arrays there and back
(`launch_on_device.py`). Those marked `host` are about the host's memory or code, or choose devices
themselves; they run once. On the CPU every kernel launched is compiled for GPUs, too (`target_check.py`).
"""

import itertools

import emulated_hip
import pytest
from launch_on_device import launches_on, why_not
from target_check import Recorder

FOLDERS = ("language", "differential", "launch")


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        default="all",
        help="where launches of the tests run: all, cpu, cuda; moved: the CPU, with arrays copied as for a GPU; "
        "hip:gfx942: AMD's code in an interpreter",
    )
    parser.addoption(
        "--targets",
        default="one",
        choices=["one", "all", "none"],
        help="GPUs that launched kernels are compiled for, too",
    )


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "host: about memory or code of the host, or choosing devices itself; runs once"
    )
    config.recorder = Recorder()
    if (device := config.getoption("--device")).startswith("hip:"):
        emulated_hip.use(device.removeprefix("hip:"))


def devices(config):
    chosen = config.getoption("--device")
    if chosen != "all":
        if chosen not in ("cpu", "cuda", "moved") and not chosen.startswith("hip:"):
            raise pytest.UsageError(
                f"--device={chosen}: expected all, cpu, cuda, moved or hip:gfx942"
            )
        return [chosen]
    return ["cpu"] if why_not("cuda") else ["cpu", "cuda"]


def pytest_report_header(config):
    reason = why_not("cuda")
    return f"devices: {', '.join(devices(config))}" + (f" (no cuda: {reason})" if reason else "")


def pytest_generate_tests(metafunc):
    path = metafunc.definition.path
    if path.parent.name in FOLDERS and "device" in metafunc.fixturenames:
        is_host = metafunc.definition.get_closest_marker("host")
        names = [name for name in devices(metafunc.config) if name == "cpu" or not is_host]
        metafunc.parametrize("device", names or [HOST_ONLY], indirect=True)


HOST_ONLY = pytest.param("host", marks=pytest.mark.skip("about the host"), id="host")


@pytest.fixture(autouse=True)
def own_tuning_folder(tmp_path_factory, monkeypatch):
    """What is measured in a test is known to no other."""
    folder = tmp_path_factory.getbasetemp() / f"tuning-{next(COUNTER)}"
    monkeypatch.setenv("SECTILE_TUNING_DIR", str(folder))


COUNTER = itertools.count()


@pytest.fixture(autouse=True)
def device(request):
    """Where this test's launches run: "cpu" or "cuda"."""
    name = getattr(request, "param", "cpu")
    if reason := why_not(name):
        pytest.skip(f"{name}: {reason}")
    targets = request.config.getoption("--targets")
    recorder = request.config.recorder
    if name != "cpu" or targets == "none" or request.node.get_closest_marker("host"):
        with launches_on(name):
            yield name
        return
    with recorder.recording():
        yield name
    if failures := recorder.failures(targets):
        pytest.fail("\n".join(failures), pytrace=False)
