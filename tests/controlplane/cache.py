"""The directory where the test bed keeps what is expensive to get, and the one way to fill it.

An entry is a directory that is either complete or absent: it is made under another name and renamed into place, under a
file lock, so that parallel test runs make it once and a killed one leaves nothing half done.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

REQUIREMENTS = Path(__file__).parents[2] / "requirements"


class BedUnavailable(Exception):
    """The test bed cannot be had on this machine; the message says why and what to do."""


def cache_directory() -> Path:
    """Return `hookrunner/` under `XDG_CACHE_HOME` or `~/.cache`; made if it is missing."""
    directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hookrunner"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def cached(name: str, fill: Callable[[Path], None]) -> Path:
    """Return the cache entry `name`, made by `fill(empty directory)` if it is missing; others wait meanwhile."""
    entry = cache_directory() / name
    if entry.is_dir():
        return entry
    with locked(entry.with_name(f"{name}.lock")):
        if not entry.is_dir():
            unfinished = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=entry.parent))
            try:
                fill(unfinished)
                unfinished.rename(entry)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return entry


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file; the kernel lets go of it when the holder dies."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def pip_install(name: str, into: Path) -> None:
    """Install the one wheel of `requirements/<name>.txt`, which has its hashes, without its dependencies, into a
    directory of its own. Raises `BedUnavailable`."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
    pinned = ["--require-hashes", "--requirement", str(REQUIREMENTS / f"{name}.txt")]
    run([*pip, "--target", str(into), *pinned], why=f"the wheel of requirements/{name}.txt could not be installed")


def run(command: list[str], *, why: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command to its end and return its standard output. Raises `BedUnavailable` with its last lines."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        last_lines = "\n".join(done.stderr.splitlines()[-20:])
        raise BedUnavailable(f"{why}: `{' '.join(command)}` exited with {done.returncode}\n{last_lines}")
    return done.stdout
