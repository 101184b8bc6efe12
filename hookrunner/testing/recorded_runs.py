"""Runs a hook once with a sandbox as its cluster, and records every request to it: those of kubectl and other clients
that the hook starts, then those that carry out what it asks for.

    run = await record_run(tools, hook, case, definitions)
    run.requests        # `GET /api/v1/namespaces/default/pods/web`, …

The sandbox holds the objects that the hook is given. Only clients with its token are recorded.
"""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hookrunner.errors import BadInput
from hookrunner.model.bindings import Hook
from hookrunner.testing.bench import Bench, bench
from hookrunner.testing.cases.case_files import Case
from hookrunner.testing.cases.expectations import Difference, differences
from hookrunner.testing.effects import carry_out, plant
from hookrunner.testing.happenings import parse_happening
from hookrunner.testing.results import Result
from kubesandbox.errors import ObjectRefused
from kubesandbox.sandbox import Options, Sandbox, serving
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_OUTCOME = ("run", "reason", "exit", "failure")
"""What a case expects of the run itself; the rest may differ where the hook finds a cluster."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What came of it, the lines of its requests, and how its end is not as the case expects."""

    result: Result
    requests: Sequence[str]
    wrong: Sequence[Difference]


async def record_run(tools: Bench, hook: Hook, case: Case, definitions: Sequence[JSON] = ()) -> RecordedRun:
    """Run a case of a hook with the settings and the jq of a bench, where also the kinds of these definitions are
    served. Raises BadInput if it is not clear what is meant, or an object cannot be."""
    options = Options(token=secrets.token_urlsafe(), own_certificate=True)
    async with serving(options) as sandbox:
        await _plant_objects(sandbox, (*definitions, *case.given.objects))
        with TemporaryDirectory(prefix="hookrunner-recorded-") as directory:
            kubeconfig = Path(directory) / "kubeconfig"
            kubeconfig.touch(mode=0o600)
            kubeconfig.write_text(sandbox.kubeconfig())
            async with bench(tools.settings, tools.timeout, str(kubeconfig), tools.jq) as connected:
                result = await _run(connected, sandbox, hook, case)
        expected = {key: case.expect[key] for key in _OUTCOME if key in case.expect}
        return RecordedRun(result, tuple(sandbox.faults.requests), differences(expected, result))


async def _plant_objects(sandbox: Sandbox, objects: Sequence[JSON]) -> None:
    """What no API server could have is left out: a case may give less of an object than it takes to be one."""
    for obj in sorted(objects, key=lambda obj: obj["kind"] != "CustomResourceDefinition"):
        with suppress(ObjectRefused):
            await plant(sandbox.contents, [obj], ())


async def _run(tools: Bench, sandbox: Sandbox, hook: Hook, case: Case) -> Result:
    happenings = [parse_happening(hook, options) for options in case.happenings]
    result = await tools.run(hook, case.given, *happenings)
    try:
        await plant(sandbox.contents, (), result.carried_out)
    except ObjectRefused as error:
        raise BadInput(str(error)) from None
    await carry_out(sandbox, result.carried_out, tools.jq)  # what is refused was requested, too
    return result
