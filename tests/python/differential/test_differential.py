"""Random kernels against NumPy: the same results from every way of compiling and running them.

More than these, when hunting: python differential_support.py FIRST_SEED COUNT [check=bounds] [device=cuda]

Programs load what they stored. Without barriers that is the order of one thread, a promise of the CPU:
those tests are marked `host`. Tests of every device run kernels with barriers around each store.
"""

import differential_support
import pytest

# Kernels of a group share a test: a few hundred in all, in seconds.
GROUPS, KERNELS = 12, 20


def expect_equal(seeds, folder, **options):
    for seed in seeds:
        source, difference = differential_support.run(seed, folder, **options)
        assert not difference, f"seed {seed}\n{source}\n{difference}"


@pytest.mark.host
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_kernels_agree_with_numpy(group, tmp_path):
    expect_equal(range(group * KERNELS, (group + 1) * KERNELS), tmp_path)


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_kernels_with_barriers_agree_with_numpy(group, tmp_path, device):
    count = 10 if device == "cuda" else 2  # there, all are also compiled for a GPU
    expect_equal(
        range(5000 + group * count, 5000 + (group + 1) * count), tmp_path, has_threads=True
    )


@pytest.mark.host
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_checks_of_bounds_change_no_result(seed, tmp_path):
    expect_equal([seed], tmp_path, check="bounds")


@pytest.mark.parametrize("seed", range(6000, 6006))
def test_checks_of_bounds_change_no_result_with_barriers(seed, tmp_path):
    expect_equal([seed], tmp_path, has_threads=True, check="bounds")


@pytest.mark.host
def test_arrays_that_share_memory_are_loaded_before_they_are_stored(tmp_path):
    expect_equal(range(3000, 3040), tmp_path, overlap=True)


@pytest.mark.parametrize("group", range(4))
def test_arrays_that_share_memory_with_barriers(group, tmp_path, device):
    count = 10 if device == "cuda" else 2
    seeds = range(7000 + group * count, 7000 + (group + 1) * count)
    expect_equal(seeds, tmp_path, has_threads=True, overlap=True)


@pytest.mark.host
@pytest.mark.parametrize("arch", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_older_processors_give_the_same_results(arch, tmp_path):
    expect_equal(range(2000, 2015), tmp_path, arch=arch)
