"""Many processes start at one moment on one empty cache, and each wants all of the kernels.

    python benchmarks/cache_storm.py [processes] [kernels]      # 64 100

Real kernels and the real compiler. Prints one line; fails on any error, wrong result, or kernel compiled twice.
"""

import os
import subprocess
import sys
import tempfile
import time

WORKER = """
import array, random, sys, time
import sectile as st
import sectile.language as tl

@st.jit
def kernel(out, x, n, NUMBER: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * NUMBER + tl.exp(0.0), mask=i < n)

x, out = array.array("f", [2.0] * 100), array.array("f", [0.0] * 100)
numbers = list(range(int(sys.argv[1])))
random.seed(int(sys.argv[2]))
random.shuffle(numbers)
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
wrong = 0
for number in numbers:
    kernel[(2,)](out, x, 99, NUMBER=number, BLOCK=64)
    wrong += out[0] != 2 * number + 1 or out[98] != 2 * number + 1
counts = st.runtime.control.statistics()
print(counts["compiles"], counts["disk_hits"], counts["disk_waits"], wrong, counts["disk_write_failures"],
      time.perf_counter() - start)
"""


def main(processes: int = 64, kernels: int = 100) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "worker.py")
        with open(path, "w") as file:
            file.write(WORKER)
        environment = {
            **os.environ,
            "SECTILE_CACHE_DIR": os.path.join(folder, "cache"),
            "SECTILE_NUM_THREADS": "1",
        }
        children = [
            subprocess.Popen(
                [sys.executable, path, str(kernels), str(seed)],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for seed in range(processes)
        ]
        for child in children:
            child.stdout.readline()
        start = time.perf_counter()
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        outputs = [child.communicate()[0].split() for child in children]
        seconds = time.perf_counter() - start
        failed = sum(child.returncode != 0 for child in children)
        sums = [sum(float(words[i]) for words in outputs if words) for i in range(5)]
        compiles, hits, waits, wrong, failures = map(int, sums)
        print(
            f"{processes} processes x {kernels} kernels in {seconds:.1f} s: {compiles} compiles, {hits} disk "
            f"hits, {waits} waits; {failed} failed, {wrong} wrong results, {failures} failed writes"
        )
        return int(bool(failed or wrong or failures or compiles != kernels))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
