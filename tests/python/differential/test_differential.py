"""Random kernels against NumPy: the same results from every way of compiling and running them.

More than these, when hunting: python differential_support.py FIRST_SEED COUNT [check=bounds]
"""

import differential_support
import pytest

# Their programs load what they stored, which is the order of one thread: a promise of the CPU.
# Kernels for every device: test_fuzz_gpu.py.
pytestmark = pytest.mark.host

# Kernels of a group share a test: a few hundred in all, in seconds.
GROUPS, KERNELS = 12, 20


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_kernels_agree_with_numpy(group, tmp_path):
    for seed in range(group * KERNELS, (group + 1) * KERNELS):
        source, difference = differential_support.run(seed, tmp_path)
        assert not difference, f"seed {seed}\n{source}\n{difference}"


@pytest.mark.parametrize("seed", range(1000, 1020))
def test_checks_of_bounds_change_no_result(seed, tmp_path):
    source, difference = differential_support.run(seed, tmp_path, check="bounds")
    assert not difference, f"seed {seed}\n{source}\n{difference}"


def test_arrays_that_share_memory_are_loaded_before_they_are_stored(tmp_path):
    for seed in range(3000, 3040):
        source, difference = differential_support.run(seed, tmp_path, overlap=True)
        assert not difference, f"seed {seed}\n{source}\n{difference}"


@pytest.mark.parametrize("arch", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_older_processors_give_the_same_results(arch, tmp_path):
    for seed in range(2000, 2015):
        source, difference = differential_support.run(seed, tmp_path, arch=arch)
        assert not difference, f"seed {seed}\n{source}\n{difference}"
