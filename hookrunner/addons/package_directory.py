"""Packages as directories: Helm's engine renders a chart from one, and hooks read files of their package there.

    directory = unpack_package(package, Path("/tmp/hookrunner/unpacked"))

A package is unpacked once for each digest, beside the other packages of the same parent: a directory with the digest's
name is complete, because it is moved there when all its files are written. Who owns the parent removes it.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from hookrunner.packages.package import Package


def unpack_package(package: Package, parent: Path) -> Path:
    """The directory with the package's files, written if it does not exist yet. Raises OSError."""
    directory = parent / package.digest.replace(":", "-") / package.component
    if directory.is_dir():
        return directory
    parent.mkdir(parents=True, exist_ok=True)
    partial = Path(mkdtemp(prefix=".partial-", dir=parent))
    try:
        for path, data in package.files.items():
            file = partial / package.component / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        with suppress(OSError):  # another run has unpacked the same files meanwhile
            os.rename(partial, directory.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return directory
