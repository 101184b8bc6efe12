"""One run of a hook as a value: what it is given (`Run`), and what comes of it (`RunResult`, or `ExitedBadly`).

How a run travels to the hook and its answer back is a carrier's matter (`hooks/hook_process.py`); these nouns are the
same for all of them.
"""

from collections.abc import Iterator, Sequence

from hookrunner.errors import BadOutput, HookFailed
from hookrunner.model.bindings import Hook
from hookrunner.model.contexts import Context, ContextType, Snapshots, render, render_v0
from hookrunner.model.operations import Answer, ObjectOperation, Usage
from kubetypes.light_dataclasses import dataclass

_REVIEWS = (ContextType.VALIDATING, ContextType.MUTATING, ContextType.CONVERSION)
_MANY_OBJECTS, _MANY_BYTES = 1000, 64 * 1024


@dataclass(frozen=True, slots=True)
class InstanceInput:
    """What a hook of an addon is given besides values: the instance as JSON, and the directory of its package, "" as
    long as it has none."""

    document: bytes
    package_directory: str = ""


@dataclass(frozen=True, slots=True)
class Values:
    """What a global hook or one of a module reads of values, as JSON: those that the user has set, and all. `instance`
    is for a hook of an addon."""

    config: bytes
    values: bytes
    instance: InstanceInput | None = None


@dataclass(slots=True)
class RunProgress:
    """How far a run has come, in the hook's words."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a hook. `kill_after`: seconds from SIGTERM to SIGKILL, None for those of all processes. `dry_run`:
    carry out nothing of the answer. `timeout`: seconds, None for the hook's own. `attempt` counts from 1. `progress` is
    where a hook's report of its progress is noted."""

    kill_after: float | None = None
    dry_run: bool = False
    timeout: float | None = None
    attempt: int = 1
    progress: RunProgress | None = None


DEFAULT_OPTIONS = RunOptions()


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a hook is given. `values` are for a hook that has a module."""

    hook: Hook
    contexts: Sequence[Context]
    snapshots: Snapshots
    options: RunOptions = DEFAULT_OPTIONS
    values: Values | None = None

    @property
    def timeout(self) -> float | None:
        """Seconds that it may take, None for no limit."""
        return self.options.timeout or self.hook.config.settings.timeout

    @property
    def has_values(self) -> bool:
        """Does the hook read and change values?"""
        return self.values is not None

    @property
    def has_instance(self) -> bool:
        """Is it a hook of an addon, which reports conditions?"""
        return self.values is not None and self.values.instance is not None

    @property
    def refuses_patches(self) -> bool:
        """Whether the hook may change nothing in this run: a review may be forged by any client that reaches the
        webhook port, and changes are made with our own rights."""
        reviewed = any(context.type in _REVIEWS for context in self.contexts)
        return reviewed and self.hook.config.settings.on_review_patches == "refuse"

    def require_permitted(self, answer: Answer) -> None:
        """Raise BadOutput if the answer changes objects or values in a run that may change nothing, or the config of an
        addon, which has none: each instance's `spec` is its user's."""
        if answer.config and self.hook.of_addon:
            raise BadOutput(
                f"{self.hook.name}: hooks of addons cannot change the config; patch `spec` of the instance by "
                "KUBERNETES_PATCH_PATH, or the values in memory by VALUES_JSON_PATCH_PATH"
            )
        count = len(answer.objects) + len(answer.config) + len(answer.values)
        if count and self.refuses_patches:
            raise BadOutput(
                f"the hook asked for {count} changes in a review, which its settings.onReviewPatches refuses: nothing "
                "was changed; make changes in another binding, or take that setting away"
            )

    @property
    def is_large(self) -> bool:
        """Does it take more than a few milliseconds to write its contexts?"""
        converted = sum(len(context.objects.text) for context in self.contexts)
        return sum(map(len, self.snapshots.values())) > _MANY_OBJECTS or converted > _MANY_BYTES

    def rendered_contexts(self) -> Iterator[bytes]:
        """The pieces of the binding context in the format of the hook's configVersion."""
        return render_v0(self.contexts) if self.hook.config.version == "v0" else render(self.contexts, self.snapshots)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that ended well."""

    answer: Answer
    usage: Usage


class ExitedBadly(HookFailed):
    """The process failed. `operations` are those that it marked with `ignoreHookError`; `how` says how it
    ended, without anything that it has printed; `code` is its exit status, 1 for an answer that it failed, None if a
    signal ended it or it has none."""

    def __init__(
        self, message: str, operations: tuple[ObjectOperation, ...], how: str, code: int | None = None
    ) -> None:
        self.operations = operations
        self.how = how
        self.code = code
        super().__init__(message)
