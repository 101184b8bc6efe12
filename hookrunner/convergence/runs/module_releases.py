"""Where modules' releases are: in our namespace, in that which `module.yaml` names, or in one that it named before."""

import asyncio
from collections.abc import Mapping

from hookrunner import log
from hookrunner.errors import Denied
from hookrunner.model.modules import Module
from hookrunner.model.releases import Head
from hookrunner.releases.manifest_objects import Identity
from hookrunner.releases.releases import Releases

_log = log.get("helm")


class Places:
    """`usual` is the namespace of modules that name none, ours. Every method that looks raises KubeError."""

    def __init__(self, releases: Releases, usual: str) -> None:
        self._releases = releases
        self._usual = usual
        self._strays: Mapping[str, Head] | None = None

    def identity(self, module: Module) -> Identity:
        """Of a module's release, where it is to be."""
        return Identity(module.name, module.traits.namespace or self._usual)

    async def heads(self) -> dict[str, Head]:
        """The latest revision of each release in our namespace, and of each of ours elsewhere, by name."""
        strays, heads = await asyncio.gather(self._look_for_strays(), self._releases.heads(self._usual))
        return {**strays, **heads}

    async def head(self, module: Module) -> Head | None:
        """The latest revision of a module's release, from memory if it is known, wherever it is."""
        return await self._releases.head(*self.identity(module)) or await self._elsewhere(module)

    async def inherit(self, module: Module) -> Head | None:
        """The same, in the first look at what an earlier life has left. Raises ReleaseFailed, too."""
        return await self._releases.inherit(*self.identity(module)) or await self._elsewhere(module)

    async def _elsewhere(self, module: Module) -> Head | None:
        """One that is known is looked for again: somebody may have taken it away."""
        if self._strays is None or module.name in self._strays:
            self._strays = await self._look_for_strays()
        found = self._strays.get(module.name) or await self._releases.head(module.name, self._usual)
        return found if found and found.owned and found.namespace != self.identity(module).namespace else None

    async def _look_for_strays(self) -> Mapping[str, Head]:
        """Who may not list all records sees none."""
        try:
            return await self._releases.strays()
        except Denied as error:
            _log.debug("Releases in other namespaces cannot be looked for.", error=str(error))
            return {}
