"""Runs the hooks of an addon for one instance without a cluster, in the order of an instance's first run: onStartup by
number, the Synchronization of each kubernetes binding, `beforeHelm` by number.

Each hook is run by the bench (`testing/bench.py`), so it sees given objects as the cluster and the values that the
hooks before it have left. What it writes to values counts; operations on objects are not carried out, and become notes.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hookrunner.engine import dispatch
from hookrunner.errors import HookFailed
from hookrunner.model.bindings import BindingType, Hook, by_lifecycle
from hookrunner.testing.bench import Bench
from hookrunner.testing.happenings import Given, Happening, Lifecycle, Startup, Synchronization
from hookrunner.testing.results import Result
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_LAST_LINES = 5
"""Lines of a failed hook's output that its error repeats."""


@dataclass(frozen=True, slots=True)
class HookInputs:
    """What hooks of one instance find: the instance as an object, the directory of its package, and `cluster`, the
    objects that there are."""

    instance: JSON
    package_directory: Path
    cluster: tuple[JSON, ...]

    def given(self, values: JSON, config_values: JSON) -> Given:
        """The same for one run, with the values of that time."""
        directory = str(self.package_directory)
        return Given(self.cluster, {}, values, config_values, self.instance, directory)


async def run_hooks(
    bench: Bench, directory: Path, inputs: HookInputs, values: SectionStore, unit: str
) -> tuple[str, ...]:
    """Run the hooks in an addon's directory, and keep what they patch in the values of the instance `unit`. Returns
    notes for a person.

    Raises BadHookConfig, HookFailed, BadValues.
    """
    if not (directory / "hooks").is_dir():
        return ()
    catalog = await bench.catalog(directory / "hooks")
    for problem in catalog.problems:
        raise problem
    notes = list[str]()
    for hook, happening in first_runs(catalog.hooks):
        given = inputs.given(values.document(unit), values.config_document(unit))
        result = await bench.run(hook, given, happening)
        _require_success(hook, result)
        if result.values:
            values.patch(unit, result.values.patches)
        notes += _notes(hook, result)
    return tuple(notes)


def first_runs(hooks: Sequence[Hook]) -> Iterator[tuple[Hook, Happening]]:
    """What happens to hooks in the first run of an instance, in order. Bindings of one group run once."""
    by_name = {hook.name: hook for hook in hooks}
    yield from ((by_name[run.hook], Startup()) for run in dispatch.startup_runs(hooks))
    for hook in hooks:
        groups = set[str]()
        for index, binding in enumerate(hook.config.kubernetes):
            if not binding.run_on_synchronization or binding.group in groups:
                continue
            groups |= {binding.group} - {""}
            yield hook, Synchronization(f"kubernetes[{index}]")
    yield from ((hook, Lifecycle(BindingType.BEFORE_HELM)) for hook in by_lifecycle(hooks, BindingType.BEFORE_HELM))


def _require_success(hook: Hook, result: Result) -> None:
    """Raises HookFailed with the hook's name and the end of its output."""
    if result.failure:
        printed = "".join(f"\n| {line}" for line in result.logs[-_LAST_LINES:])
        named = result.failure if result.failure.startswith(hook.name) else f"{hook.name}: {result.failure}"
        raise HookFailed(f"hook {named}{printed}")


def _notes(hook: Hook, result: Result) -> Iterator[str]:
    yield from (f"hook {hook.name}: {note}" for note in result.notes)
    if count := len(result.operations):
        yield f"hook {hook.name}: asks for {count} changes of objects, which are not made here"
