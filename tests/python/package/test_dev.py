"""What ./dev says on machines that lack something. Programs that would change the machine are stand-ins; PATH has
nothing else but what the script may count on."""

import shutil
import subprocess

import pytest
from documents import ROOT

TOOLS = "bash sh awk basename cat chmod cksum cut date df dirname env grep head id kill mkdir mktemp nproc rm sed sleep tail tr true wc"

# All packages are missing, apt knows each, and what is installed is noted. Lines after the candidate fill a pipe, so that
# whoever reads only the first makes apt-cache die of SIGPIPE.
USUAL = {
    "dpkg-query": "exit 1",
    "apt-cache": """
        shift
        for package; do
          echo "$package:"
          echo "  Candidate: 1:22.1.8-1"
          seq -f '     500 http://deb.debian.org/debian bookworm/main amd64 Packages %g' 1 3000
        done""",
    "apt-get": 'echo "$@" >>"$NOTES"; case "$*" in *install*) exit 3 ;; esac',
    "id": "echo 0",
    "df": "echo Avail; echo 100000000",
}


@pytest.fixture
def machine(tmp_path):
    """Runs ./dev build in a copy of the script's folder; returns what it said and what apt-get was asked."""
    for name in (*TOOLS.split(), "seq"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    shutil.copy(ROOT / "dev", tmp_path / "dev")
    (tmp_path / "python").mkdir()
    shutil.copy(ROOT / "python/requirements-dev.txt", tmp_path / "python")
    notes = tmp_path / "notes"

    def run(**stand_ins):
        for name, text in {**USUAL, **stand_ins}.items():
            path = tmp_path / "bin" / name.replace("_", "-")
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_text(f"#!{shutil.which('bash')}\n{text}\n")
                path.chmod(0o755)
        done = subprocess.run(
            [tmp_path / "dev", "build"],
            env={"PATH": str(tmp_path / "bin"), "NOTES": str(notes), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
        )  # fmt: skip
        assert done.returncode == 1
        return done.stderr, notes.read_text() if notes.exists() else ""

    return run


def test_what_apt_knows_is_installed_though_it_says_more_than_a_pipe_holds(machine):
    said, asked = machine()
    assert "apt does not know" not in said
    install = asked.splitlines()[-1]
    for package in ("clang-22", "libclang-rt-22-dev", "libpolly-22-dev", "python3-venv", "ccache"):
        assert f" {package}" in install
    assert "could not install them" in said  # the stand-in cannot


def test_a_package_that_is_only_nice_to_have_may_be_unknown(machine):
    known = 'shift; for p; do echo "$p:"; [ $p = ccache ] && echo "  Candidate: (none)" || echo "  Candidate: 1"; done'
    said, asked = machine(apt_cache=known)
    assert " ccache" not in asked and " clang-format-22" in asked


def test_unknown_packages_are_named_and_nothing_is_installed(machine):
    known = (
        'shift; for p; do [ $p = libmlir-22-dev ] || { echo "$p:"; echo "  Candidate: 1"; }; done'
    )
    said, asked = machine(apt_cache=known)
    assert "error: apt does not know: libmlir-22-dev\n" in said
    assert "LLVM 22 comes from" in said and "install" not in asked


def test_no_network(machine):
    said, asked = machine(apt_get='echo "$@" >>"$NOTES"; exit 100', apt_cache="exit 0")
    assert "apt-get update failed: is there a network" in said
    assert "apt does not know: clang-22 " in said and "install" not in asked


def test_no_root(machine):
    said, asked = machine(id="echo 1000")
    assert (
        "error: installing packages needs root or sudo; as root: apt-get install clang-22 " in said
    )
    assert asked == ""


def test_no_apt(machine):
    said, _ = machine(dpkg_query=None, apt_get=None)
    assert (
        "error: this script installs with apt, which is not here; install with your package manager:"
        in said
    )


def test_full_disk(machine):
    said, asked = machine(df="echo Avail; echo 2000000")
    assert (
        "error: the disk of /usr has 1 GiB free, and the packages take 4; make room and run ./dev again"
        in said
    )
    assert "install" not in asked
