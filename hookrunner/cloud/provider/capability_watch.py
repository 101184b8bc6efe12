"""What the cloud's program can do, asked until it says so, every ten minutes, and when its file has changed.

Until the first answer no loop can begin; after that the last good answer counts, whatever a later call comes to.
"""

import asyncio
from collections.abc import Callable

from hookrunner import log
from hookrunner.cloud.answers import CloudCapabilities, ProviderError
from hookrunner.cloud.provider.provider_calls import ProviderCalls
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.verbs import CAPABILITIES
from hookrunner.process.spawn import FileFingerprint
from hookrunner.waits import Pauses

_log = log.get(__name__)

PERIOD = 600.0
PAUSES = Pauses(1.0, 60.0)
"""Seconds after a failure, doubled up to the longest."""
FILE_PERIOD = 5.0
"""Seconds between two looks at the file."""
_NOTHING = "it offers nothing: set an interface of its capabilities to true, for example interfaces.instances"


class CapabilityWatch:
    """Asks for capabilities, and hands each answer to `adopt`, with whether the file is another one than before."""

    def __init__(
        self, program: ProviderProgram, calls: ProviderCalls, adopt: Callable[[CloudCapabilities, bool], None]
    ) -> None:
        self._program = program
        self._calls = calls
        self._adopt = adopt
        self._fingerprint: FileFingerprint | None = None
        self._error: ProviderError | None = None
        self._known: CloudCapabilities | None = None
        self.answered = asyncio.Event()

    @property
    def condition(self) -> tuple[bool, str]:
        """For `/readyz`: not ready before the first answer; later a failure is only a message."""
        if self._error:
            return self.answered.is_set(), f"capabilities: {self._error}"
        return self.answered.is_set(), _NOTHING if self._known and not self._known.interfaces else ""

    async def run(self) -> None:
        """Ask until cancelled."""
        failures = 0
        while True:
            fingerprint = self._program.fingerprint()
            try:
                await self._ask(fingerprint)
            except ProviderError as error:
                self._report(error)
                failures += 1
            else:
                failures = 0
            pause = PAUSES.after(failures) or PERIOD
            await self._wait(pause, fingerprint)

    async def _ask(self, fingerprint: FileFingerprint | None) -> None:
        capabilities = await self._calls.call(CAPABILITIES, None)
        is_replaced = self._fingerprint is not None and fingerprint != self._fingerprint
        self._fingerprint, self._error = fingerprint, None
        self._note(capabilities)
        self._adopt(capabilities, is_replaced)
        self.answered.set()

    async def _wait(self, seconds: float, fingerprint: FileFingerprint | None) -> None:
        """Until the time is up, or the file is another one."""
        end = asyncio.get_running_loop().time() + seconds
        while (left := end - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(min(left, FILE_PERIOD))
            if self._program.fingerprint() != fingerprint:
                return

    def _note(self, capabilities: CloudCapabilities) -> None:
        """Once for each answer that says something new."""
        if capabilities != self._known:
            name, offers = capabilities.provider_name, [*map(str, capabilities.interfaces)]
            _log.info("provider answers", provider=self._program.name, name=name, interfaces=offers)
        self._known = capabilities

    def _report(self, error: ProviderError) -> None:
        """Once for each reason: it is asked again and again."""
        if str(error) != str(self._error):
            _log.warn("provider fails to answer capabilities", provider=self._program.name, error=error)
        self._error = error
