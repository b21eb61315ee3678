#!/usr/bin/env bash
# What a user does with a wheel, on a Debian 12 that has nothing: bare_root.sh runs this there, as root.
#   wheel_test.sh SOURCE WHEEL
set -euo pipefail
source=$1 wheel=$2 pages=$1/tests/python/package
say() { printf '==> wheel: %s\n' "$*" >&2; }
quietly() { "$@" >/tmp/quietly.log 2>&1 || { tail -40 /tmp/quietly.log >&2; echo "error: $* failed" >&2; exit 1; }; }
fetch() { "$@" >/tmp/quietly.log 2>&1 || { sleep 10; quietly "$@"; }; } # the network may fail once
export DEBIAN_FRONTEND=noninteractive

say "installing it beside nothing but Python"
fetch apt-get update -q
fetch apt-get install -y -q --no-install-recommends python3 python3-venv ca-certificates
mkdir -p /tmp/reader && cd /tmp/reader
python3 -m venv .venv
PATH=$PWD/.venv/bin:$PATH
fetch pip install "$wheel" numpy
[ "$(python -c 'import sectile; print(sectile.__file__)')" = "$PWD/.venv/lib/python3.11/site-packages/sectile/__init__.py" ]
sectile doctor
# README's files, as a reader saves them.
python - "$pages" "$source/README.md" <<'PY'
import sys, pathlib
sys.path.insert(0, sys.argv[1])
from documents import blocks
readme = pathlib.Path(sys.argv[2])
for name, language in (("add.py", "python"), ("add.cpp", "cpp"), ("CMakeLists.txt", "cmake")):
    pathlib.Path(name).write_text(blocks(readme, language)[0])
PY
expect() { local answer; answer=$("$@"); echo "$answer"; [[ ${answer,,} == "correct: true" ]] || { echo "error: $*" >&2; exit 1; }; }
expect python add.py
pip show --files opus-sectile | grep licenses/LICENSE >/dev/null

say "C++ from the wheel, with a compiler and with CMake"
fetch apt-get install -y -q --no-install-recommends g++ cmake make
# shellcheck disable=SC2046
quietly c++ add.cpp -o add $(sectile --cflags --libs)
expect ./add
quietly cmake -S . -B build -DSectile_DIR="$(sectile --cmake-dir)"
quietly cmake --build build
expect build/add

say "beside torch, numba and Triton in one process"
fetch pip install torch==2.13.0 numba==0.68.1 triton==3.6.0
python "$pages/neighbours.py" sectile torch numba triton
python "$pages/neighbours.py" triton numba torch sectile
python "$pages/neighbours.py" torch triton sectile numba
pip uninstall -q -y opus-sectile
[ ! -e .venv/lib/python3.11/site-packages/sectile ] || { echo "error: uninstalling left files" >&2; exit 1; }
