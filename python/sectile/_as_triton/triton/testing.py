from sectile import testing as _testing
from sectile.as_triton import adopt, missing
from sectile.testing import *  # noqa: F403
from sectile.testing import (
    Benchmark,
    Mark,
    assert_close,
    do_bench,
    do_bench_cudagraph,
    get_dram_gbps,
    get_max_simd_tflops,
    get_max_tensorcore_tflops,
    nvsmi,
    perf_report,
)

adopt(__name__, [value for name, value in vars(_testing).items() if not name.startswith("_")])

__getattr__ = missing(__name__)
