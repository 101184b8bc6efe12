"""Each module of our packages can be the first one that a process imports.

One that works only after another has been imported lacks an import, or imports go round in a circle. Run as a module,
this file forks for each of them from a process that has imported only what others wrote, which makes it cheap.

Level: pure.
"""

import gc
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("hookrunner", "kubesandbox", "kubetypes")
LIBRARIES = ("aiohttp.web", "asyncio", "click", "cryptography.x509", "kubernetes.config", "orjson", "re2")
"""What most of our modules import, and what is dear. Not the Helm library: it starts threads."""


@pytest.mark.nightly
def test_every_module_can_be_imported_first() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.test_imports"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_a_module_that_lacks_an_import_is_found(tmp_path: Path) -> None:
    """`first` alone does not know `loose.second`."""
    files = {"__init__": "", "first": "import loose\nloose.second.x", "second": "x = 1"}
    (tmp_path / "loose").mkdir()
    for name, text in files.items():
        (tmp_path / "loose" / f"{name}.py").write_text(text)
    script = "import sys; from tests import test_imports as t; print([*t.faults(t.modules(sys.argv[1], 'loose'))])"
    environ = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.check_output([sys.executable, "-c", script, str(tmp_path)], env=environ, text=True)
    assert done == """["loose.first: AttributeError: module 'loose' has no attribute 'second'"]\n"""


def modules(root: Path | str, package: str) -> list[str]:
    """The names of a package's modules, found without importing one. `__main__` would run a program."""
    files = (file.relative_to(root).with_suffix("") for file in sorted(Path(root, package).rglob("*.py")))
    names = (".".join(file.parts).removesuffix(".__init__") for file in files)
    return [name for name in names if not name.endswith("__main__")]


def faults(names: list[str]) -> Iterator[str]:
    """A line for each module that cannot be imported first."""
    gc.disable()
    for name in names:
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            os.write(writer, _import(name).encode())
            os._exit(0)
        os.close(writer)
        with open(reader) as answers:
            fault = answers.read()
        if os.waitpid(child, 0)[1] or fault:
            yield f"{name}: {fault or 'the process died'}"


def _import(name: str) -> str:
    try:
        importlib.import_module(name)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    """Print the faults."""
    for library in LIBRARIES:
        importlib.import_module(library)
    gc.freeze()
    for fault in faults([name for package in PACKAGES for name in modules(ROOT, package)]):
        print(fault)


if __name__ == "__main__":
    main()
