"""What an earlier life of the operator has left in the cluster: releases of modules that are off now, which are deleted
as if they had been turned off just now, and releases that no module is called after, which are purged
(addon-operator.md §5.4, design.md §4.2)."""

from collections.abc import Iterator

from hookrunner import log
from hookrunner.convergence.notices import Item
from hookrunner.convergence.runs.release_reconciler import Releasing
from hookrunner.convergence.state import ModuleStates
from hookrunner.errors import HookrunnerError, KubeError, ReleaseFailed
from hookrunner.model.modules import Choice
from hookrunner.model.releases import Head

_log = log.get("converge")


class Leftovers:
    """`certain` says that no directory is left out which may be somebody's module; releases in `ignored` are nobody's
    business. `purge` says for a person what became of it."""

    def __init__(self, states: ModuleStates, releasing: Releasing, certain: bool, ignored: tuple[str, ...]) -> None:
        self.purge = "not yet"
        self._states = states
        self._releasing = releasing
        self._certain = certain
        self._ignored = ignored
        self._looked = self._cleaned = False

    async def look(self) -> bool:
        """See which modules are installed, once; is that known? Until it is, nothing is deleted for its sake."""
        if self._looked:
            return True
        try:
            heads = [await self._releasing.places.inherit(state.module) for state in self._states]
        except (KubeError, ReleaseFailed) as error:
            _log.error("Releases of an earlier life cannot be looked for.", error=str(error))
            return False
        self._looked = True
        for state, head in zip(self._states, heads, strict=True):
            if head and head.owned:
                state.mark_live()
        return True

    async def clean_up(self) -> None:
        """Remove releases that are ours and that no module is called after, once. As long as it is not certain which
        modules there are, nothing is removed."""
        if self._cleaned:
            return
        if doubt := "; ".join(self._doubts()):
            self._put_off(doubt)
            return
        try:
            heads = await self._releasing.places.heads()
        except KubeError as error:
            self._put_off(f"the releases could not be listed: {error}")
            return
        self._cleaned, known = True, {state.module.name for state in self._states}
        gone = [name for name, head in heads.items() if head.owned and name not in known and name not in self._ignored]
        for name in sorted(gone, reverse=True):
            await self._remove(heads[name])
        self.purge = f"purged: {', '.join(gone)}" if gone else "nothing was to be purged"

    def _doubts(self) -> Iterator[str]:
        if not len(self._states):
            yield "no modules were found"
        if not self._certain:
            yield "a directory has a name that no module can have"
        if not self._looked:
            yield "the releases could not be listed"
        if names := [state.module.name for state in self._states if state.decision.choice is Choice.UNDECIDED]:
            yield f"undecided: {', '.join(names)}"

    def _put_off(self, doubt: str) -> None:
        before, self.purge = self.purge, f"nothing was purged: {doubt}"
        if self.purge != before:
            _log.warn("Nothing is purged.", why=doubt)

    async def _remove(self, head: Head) -> None:
        name = head.name
        _log.info("A release that no module is called after is removed.", release=name)
        try:
            await self._releasing.purge(head)
            self._states.news.tell(Item(name, "ReleasePurged", f"no module is called {name}: removed", bad=False))
        except HookrunnerError as error:
            self._states.news.tell(Item(name, "PurgeFailed", str(error)))
            _log.error("A release could not be removed.", release=name, error=str(error))
