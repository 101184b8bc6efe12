"""Prints what the image adds to its base, by package: megabytes on disk, and compressed as a node pulls them.

python -m tests.image
"""

import gzip
import json
import re
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

from tests.image.build import store

SITE = re.compile(r"usr/local/lib/python3[^/]*/[^/]*-packages/(?:([^/]+)/|.*)")
SHOWN = 0.5
"""Packages of fewer megabytes are one line."""


def part_of(path: str) -> str:
    """What a line is about: a Python package, a directory of the image, or Debian."""
    if match := SITE.match(path):
        return re.sub(r"-[\d.]+\.dist-info$", "", match[1] or "modules of one file").replace("_", "-")
    if path.startswith("usr/local/bin/kubectl"):
        return "kubectl"
    return "Debian packages" if path.startswith(("usr/", "var/", "etc/")) else path.partition("/")[0]


def main() -> None:
    disk, pulled = Counter[str](), Counter[str]()
    with store().in_use() as images, tempfile.TemporaryDirectory() as scratch:
        images.export(images.find(), layout := Path(scratch))
        blobs = layout / "blobs/sha256"
        index = json.loads((layout / "index.json").read_text())
        manifest = json.loads((blobs / index["manifests"][0]["digest"].partition(":")[2]).read_text())
        layers = manifest["layers"][1:]
        for layer in layers:
            with tarfile.open(blobs / layer["digest"].partition(":")[2]) as archive:
                for member in archive:
                    part = part_of(member.name)
                    disk[part] += member.size
                    if file := archive.extractfile(member) if member.isfile() else None:
                        pulled[part] += len(gzip.compress(file.read(), 6))
    for part, size in disk.most_common():
        if size > SHOWN * 1e6:
            print(f"{part:24} {size / 1e6:6.1f} {pulled[part] / 1e6:6.1f}")
    rest = [part for part, size in disk.items() if size <= SHOWN * 1e6]
    print(f"{len(rest)} others".ljust(24), f"{sum(disk[part] for part in rest) / 1e6:6.1f}", end=" ")
    print(f"{sum(pulled[part] for part in rest) / 1e6:6.1f}")
    print(f"{'all':24} {disk.total() / 1e6:6.1f} {sum(layer['size'] for layer in layers) / 1e6:6.1f}")


if __name__ == "__main__":
    main()
