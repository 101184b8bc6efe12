"""A chart as the packed archive that is given to Helm.

Helm's library knows a cluster's API versions only in addition to those that it was built with, so that a template would
see `policy/v1beta1` on every cluster. In the packed templates `X.Capabilities.APIVersions` therefore becomes
`(slice X.Capabilities.APIVersions N)`, which leaves the N built-in ones out and is still Helm's own type, with `Has`.
"""

import gzip
import io
import re
import tarfile
from collections.abc import Iterator, Mapping

from hookrunner.charts.files import unpacked

_VERSIONS = re.compile(rb"(?<![)$\w.])[$\w.]*(?:\.Capabilities\.APIVersions\b|\.APIVersions(?=\.Has\b))")


def packed(files: Mapping[str, bytes], built_in: int = 0) -> bytes:
    """The archive. `built_in` is how many API versions the engine has of its own."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(f"chart/{name}")
            text = _rewritten(data, built_in) if built_in and "templates/" in name else data
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return gzip.compress(archive.getvalue(), compresslevel=0)


def flat(files: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """The files with packed subcharts as directories, since Helm's loader takes either. Raises BadChart."""
    for name, data in files.items():
        folder, _, file = name.rpartition("/")
        if file.endswith(".tgz") and folder.rpartition("/")[2] == "charts":
            inner = {f"{folder}/{file[:-4]}/{path}": content for path, content in unpacked(name, data)}
            yield from flat(inner)
        else:
            yield name, data


def _rewritten(data: bytes, built_in: int) -> bytes:
    return _VERSIONS.sub(rb"(slice \g<0> %d)" % built_in, data)
