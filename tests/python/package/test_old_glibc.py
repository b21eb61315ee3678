import subprocess
import sys

PROGRAM = """
import sys

class Loader:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "sectile._native":
            raise ImportError("/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by _native.so)")

sys.meta_path.insert(0, Loader)
import sectile
sectile.jit
"""


def test_an_older_glibc_is_one_sentence_with_a_remedy():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(
        "ImportError: Sectile needs glibc 2.34 or newer, and this system has glibc "
    )
    assert "build it here" in last
