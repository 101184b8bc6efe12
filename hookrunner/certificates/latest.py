"""The newest usable material of one source, and what there is to say about it.

What comes after it and cannot be used does not replace it: a server with the last good certificate is worth more than
none. That is said once; while there is nothing to be used at all, again every minute, since somebody may be waiting.
"""

import asyncio
import math
import time

from hookrunner import log
from hookrunner.certificates.material import Material, doubts
from hookrunner.errors import BadCertificate

REMINDER = 60.0

_LOG = log.get("certificates")


class Latest:
    """`source` names where the material comes from. `problem` is why what is there now cannot be used; empty if it can
    be, or if nothing is known yet."""

    def __init__(self, source: str) -> None:
        self.material: Material | None = None
        self.problem = ""
        self._source = source
        self._told_at = -math.inf

    def take(self, found: Material | BadCertificate) -> Material | None:
        """`found` if it is usable and new."""
        if isinstance(found, BadCertificate):
            self.complain(str(found))
            return None
        if self.problem:
            _LOG.info("certificate is usable again", where=self._source)
            self.problem = ""
        if found == self.material:
            return None
        self._tell(found)
        self.material = found
        return found

    def complain(self, problem: str) -> None:
        """Say what is wrong, unless that was said already."""
        now = asyncio.get_running_loop().time()
        if problem == self.problem and (self.material or now - self._told_at < REMINDER):
            return
        self.problem, self._told_at = problem, now
        keeps = "the last good certificate stays" if self.material else "there is no certificate yet, trying on"
        _LOG.error(f"certificate cannot be used: {keeps}", where=self._source, error=problem)

    def _tell(self, new: Material) -> None:
        serial, names = f"{new.serial:x}", ",".join(new.names)
        if self.material and self.material.serial == new.serial:
            _LOG.info("trusted certificates changed", where=self._source, serial=serial)
            return
        _LOG.info("certificate", where=self._source, serial=serial, names=names, expires=round(new.expires))
        for doubt in doubts(new, time.time()):
            _LOG.warn("API servers will refuse the certificate", where=self._source, serial=serial, because=doubt)
