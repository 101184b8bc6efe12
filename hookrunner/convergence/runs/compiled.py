"""Hooks that are compiled into addon-operator: they never run here, and their module does without them. The log and
`module list` say so; under `--on-compiled-hooks park` the module does not run."""

from dataclasses import dataclass

from hookrunner.convergence.notices import Item, News
from hookrunner.convergence.state import ModuleState
from hookrunner.errors import BadModule
from hookrunner.model.status import some
from hookrunner.model.values import GLOBAL

REASON = "HooksMissing"


@dataclass(frozen=True, slots=True)
class CompiledHooks:
    """`names` are those of global hooks; those of a module stand with it. `parks` says that modules do not run without
    them; all modules depend on global hooks, by the values that these set."""

    news: News
    names: tuple[str, ...] = ()
    parks: bool = False

    @property
    def shared(self) -> str:
        """What is missing of global hooks, for a person; empty if nothing is."""
        return f"global {_text(self.names)}" if self.names else ""

    def lacking(self, state: ModuleState) -> str:
        """What a module that is on does without, for a person; empty if nothing."""
        return _text(state.module.compiled) if state.on and state.module.compiled else ""

    def begin(self, state: ModuleState) -> None:
        """A module is about to start: tell what it lacks, or raise BadModule if it is to wait for that."""
        missing = self.lacking(state)
        if self.parks and (missing or self.shared):
            raise BadModule(f"{missing or self.shared}; to run it without them: --on-compiled-hooks warn")
        if missing:
            self.news.tell(Item(state.module.name, REASON, missing))

    def tell_shared(self) -> None:
        """Tell what is missing of global hooks."""
        if self.names:
            self.news.tell(Item(GLOBAL, REASON, self.shared))


def _text(names: tuple[str, ...]) -> str:
    how = "write them as executables in bash, Python or any language"
    return f"hooks are compiled into addon-operator and never run here: {some(names)}; {how}"
