"""Follows a certificate, its key and its CA in three files, so that they can be exchanged without a restart.

Files are read once a second: Python has no inotify, modification times may stand still while contents change, and three
small reads cost 0.1 ms. Whoever writes three files is seen in the middle of it, and a mounted Secret is exchanged
between two of our reads (https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod),
so a change counts when the next look finds the same.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from hookrunner import regular_files
from hookrunner.certificates.latest import Latest
from hookrunner.certificates.material import Material, Part, checked
from hookrunner.errors import BadCertificate

INTERVAL = 1.0
_LARGEST = 1024 * 1024


async def files(latest: Latest, cert: Path, key: Path, ca: Path) -> AsyncGenerator[Material, None]:
    """The material in these files, and whatever replaces it, for ever. `latest` is told what is wrong."""
    before = judged = None
    while True:
        now = [_contents(path) for path in (cert, key, ca)]
        if latest.material is None or now == before != judged:
            judged = now
            if material := latest.take(_material(now)):
                yield material
        before = now
        await asyncio.sleep(INTERVAL)


def _contents(path: Path) -> Part | str:
    """Or why there are none."""
    try:
        with regular_files.opened(path) as file:
            return Part(file.read(_LARGEST), str(path))
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"


def _material(found: Sequence[Part | str]) -> Material | BadCertificate:
    problems = [part for part in found if isinstance(part, str)]
    if problems:
        return BadCertificate(f"{'; '.join(problems)}: mount the certificate there, or choose another --webhook-certs")
    try:
        return checked(*(part for part in found if isinstance(part, Part)))
    except BadCertificate as error:
        return error
