"""The rights that hooks use in their test cases, which are run once more, each with a sandbox that holds its `given`.

What an operation of a hook may need is known from its kind, also where a case shows only a part of it: `CreateOrUpdate`
creates once and updates from then on. What kubectl and other clients need is known from their requests alone.

Names and namespaces of a case are samples, so its rights count everywhere, with two exceptions: a hook whose bindings
name their namespaces writes there, and what the hook states in `settings.permissions` needs nothing more.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import chain
from pathlib import Path

from hookrunner.errors import BadInput
from hookrunner.kube.objects import rights_of
from hookrunner.model.bindings import Hook
from hookrunner.model.operations import ObjectOperation
from hookrunner.model.rights import AccessRequest, Reason, Right
from hookrunner.releases.manifest_objects import CRD
from hookrunner.rights.hook_rights import reason_of, stated_rights
from hookrunner.rights.kind_names import KindNames
from hookrunner.rights.release_rights import Release, granted_rights
from hookrunner.rights.request_lines import is_open_to_all, read_request
from hookrunner.testing.bench import Bench
from hookrunner.testing.cases.case_files import Case
from hookrunner.testing.cases.case_files import read as read_cases
from hookrunner.testing.cases.case_format import SUFFIX
from hookrunner.testing.cases.case_runner import results_in_order
from hookrunner.testing.recorded_runs import RecordedRun, record_run
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_LAST_LINES = 5
"""Of what a hook printed, in an error."""


@dataclass(frozen=True, slots=True)
class _Used:
    """What a hook used in one of its cases."""

    hook: Hook
    case: Case
    run: RecordedRun


async def used_rights(hooks: Iterable[Hook], tools: Bench, kinds: KindNames) -> list[Right]:
    """The rights that the cases of these hooks use and that the hooks do not state; cases are run with the settings and
    the jq of a bench. Raises BadInput for a case that does not end as it expects, and for a request that no rule can
    allow."""
    definitions, turns = tuple(kinds.definitions), asyncio.Semaphore(os.cpu_count() or 1)

    async def use(hook: Hook, file: Path, case: Case) -> _Used:
        async with turns:
            return _Used(hook, case, await _record(tools, hook, file, case, definitions))

    cases = [(hook, file, case) for hook in hooks for file in _test_files(hook) for case in read_cases(file).cases]
    tasks = [asyncio.create_task(use(*case)) for case in cases]
    async with aclosing(results_in_order(tasks)) as results:
        return [right async for used in results for right in _rights_of(used, kinds)]


def _test_files(hook: Hook) -> Sequence[Path]:
    file = hook.path.with_name(hook.path.name + SUFFIX)
    return [file] if file.exists() else []


async def _record(tools: Bench, hook: Hook, file: Path, case: Case, definitions: Sequence[JSON]) -> RecordedRun:
    place = f"{file}:{case.line}: test case '{case.name}'"
    try:
        run = await record_run(tools, hook, case, definitions)
    except BadInput as error:
        raise BadInput(f"{place}: {error}") from None
    if run.wrong:
        lines = "; ".join(line for difference in run.wrong for line in difference.lines)
        printed = "".join(f"\n| {line}" for line in run.result.logs[-_LAST_LINES:])
        advice = f"so its rights are unknown; see `hookrunner hook test {file}`"
        raise BadInput(f"{place} does not end as it expects with a cluster: {lines}; {advice}{printed}")
    return run


def _rights_of(used: _Used, kinds: KindNames) -> Iterator[Right]:
    hook, operations = used.hook, used.run.result.carried_out
    kinds.learn(obj for obj in used.case.given.objects if obj["kind"] == CRD)
    needs = (reason_of(hook, f"test case '{used.case.name}'"),)
    stated, bound = list(stated_rights(hook)), _bound_namespaces(hook)
    made = chain.from_iterable(_requests_of(operation, kinds) for operation in operations)
    for request in dict.fromkeys((*_recorded(used), *made)):
        if not any(right.covers(request) for right in stated):
            yield from _to_right(request, needs, bound)
    bodies = [operation.body for operation in operations if isinstance(operation.body, dict)]
    yield from granted_rights([body for body in bodies if "kind" in body], Release(needs[0].who, ""))


def _recorded(used: _Used) -> Iterator[AccessRequest]:
    """Raises BadInput for a request that no rule can allow."""
    for line in used.run.requests:
        request = read_request(line)
        if not request.verb:
            text = (
                f"hook {used.hook.name} makes a request in test case '{used.case.name}' that no rule of RBAC can allow"
            )
            raise BadInput(f"{text}: {line}; rules have verbs for GET, HEAD, POST, PUT, PATCH and DELETE")
        if not is_open_to_all(request):
            yield request


def _requests_of(operation: ObjectOperation, kinds: KindNames) -> Iterator[AccessRequest]:
    """All that the operation may request, also where the case shows a part of it."""
    resource = kinds.find(operation.api_version, operation.kind)
    for right in rights_of(resource, operation):
        for verb in right.verbs:
            name = "" if verb == "create" and not operation.subresource else operation.name
            yield AccessRequest(verb, resource.group, right.resources[0], operation.namespace, name)


def _bound_namespaces(hook: Hook) -> tuple[str, ...]:
    """The namespaces of all its bindings; none if one of them has all namespaces, or is about what has none."""
    bindings = hook.config.kubernetes
    if any(binding.namespace_labels is not None or not binding.namespaces for binding in bindings):
        return ()
    return tuple(dict.fromkeys(namespace for binding in bindings for namespace in binding.namespaces))


def _to_right(request: AccessRequest, needs: tuple[Reason, ...], bound: tuple[str, ...]) -> tuple[Right, ...]:
    if request.url:
        return (Right((), (), (request.verb,), urls=(request.url,), needs=needs),)
    right = Right((request.group,), (request.resource,), (request.verb,), needs=needs)
    return right.in_namespaces(bound if request.namespace in bound else ())
