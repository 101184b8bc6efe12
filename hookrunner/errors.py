"""Every error that a room raises on purpose, as one tree.

    HookrunnerError
    ├── StartRefused            the process cannot start; the message says what, where and what to do (exit code 1)
    ├── BadConfig               something that a person wrote cannot be used as written
    │   ├── BadHookConfig       a hook's `--config` answer, or the hook itself
    │   ├── BadFilter           a jq program that does not compile
    │   ├── BadCrontab          a schedule that cannot be read
    │   ├── BadSelector         a label or field selector that cannot be sent
    │   ├── BadInput            what a hook tool was given: objects, test cases, a binding that is not there
    │   ├── BadSetting          a flag or a variable whose value cannot be read (exit code 2)
    │   ├── BadKubeConfig       no usable way to reach a cluster
    │   ├── BadCertificate      a certificate, its key or its CA: unreadable, or they do not belong together
    │   ├── BadModule           a module's directory, its name, its module.yaml, its schemas, a cycle in `requires`
    │   ├── BadAddon            an addon's directory, its addon.yaml, the schema of its fields
    │   ├── BadPatch            a patch of an instance: it fits no object or several, cannot be merged, or may not be
    │   ├── BadValues           values of a wrong type or against a schema, a section that cannot be read, a bad patch
    │   └── BadChart            a chart that cannot be loaded
    ├── HookFailed              a hook run ended badly: exit code, signal, timeout, files that could not be made
    │   └── BadOutput           … or it ended well and what it wrote cannot be read
    │       └── NoAnswer        … or it wrote nothing where the API server waits for an answer
    ├── ReviewFailed            a question of the API server to which no hook gave a usable answer
    ├── FilterFailed            a jq program failed on one object (never drops the event)
    ├── PatchFailed             an operation on an object was refused or could not be done
    ├── ScriptFailed            an `enabled` script ended badly, hung, or answered neither true nor false
    ├── RenderFailed            a chart's templates could not be rendered with these values
    ├── RunObstructed           a unit does not run now
    │   ├── RunBlocked          … before something that it depends on changes; time alone does not help
    │   └── RunPostponed        … but what it waits for may come by itself: it is tried again
    ├── ReleaseFailed           a release could not be installed, upgraded, rolled back or removed
    │   └── ObjectsDeleted      … for nothing else than that others have deleted what it waited for
    ├── PackageError            a package of an addon cannot be fetched, read or verified; or no version fits
    ├── RegistrationFailed      the API server could not be told whom to ask, or to ask no more
    └── KubeError               the Kubernetes API did not do what was asked
        ├── Unreachable         no answer: refused, reset, timed out, TLS
        │   ├── Cut             … or it broke off in the middle
        │   └── Silent          … or an open stream carried nothing for too long
        ├── NotLeader           a write was not sent: another replica may lead by now
        ├── UnknownKind         discovery knows no such resource (a CRD may come)
        └── ApiError            an answer with a status code
            ├── NotFound        404
            ├── Conflict        409, stale write
            ├── AlreadyExists   409, reason AlreadyExists
            ├── Expired         410, or an ERROR event with code 410: start again from a list
            ├── Denied          401 and 403
            └── Throttled       429, or 5xx with Retry-After

A failure that passes by itself, without any action, is `brief`: errors of Kubernetes and of releases say so.
"""

import os
import traceback
from collections.abc import Sequence
from http import HTTPStatus
from typing import Literal


class HookrunnerError(Exception):
    """Root of the tree."""


class StartRefused(HookrunnerError):
    """The process will not start. The message is shown to the user as is."""


class BadConfig(HookrunnerError):
    """Something that a person wrote cannot be used as written."""


class BadHookConfig(BadConfig):
    """A hook or its configuration was refused.

    `hook` is the hook's name, `problems` one line each: field path, what is wrong, how to fix it; `printed` what the
    hook said meanwhile, for its author. None of them quotes the configuration. `answer` does, and `values`
    are what is wrong, one for each problem: for tools that show authors their own hooks.
    """

    def __init__(
        self,
        hook: str,
        problems: list[str],
        printed: Sequence[str] = (),
        answer: str = "",
        values: Sequence[object] = (),
    ) -> None:
        self.hook = hook
        self.problems = problems
        self.printed = printed
        self.answer = answer
        self.values = values or (None,) * len(problems)
        told = [*problems, *printed]
        lines = told[0] if len(told) == 1 else "".join(f"\n  - {line}" for line in told)
        super().__init__(f"hook '{hook}': {lines}")


class BadFilter(BadConfig):
    """A jq program does not compile."""


class BadCrontab(BadConfig):
    """A crontab expression cannot be read."""


class BadSelector(BadConfig):
    """A label or field selector cannot be sent to the API server. `value` is the one that is wrong, if it is one."""

    def __init__(self, message: str, value: str = "") -> None:
        self.value = value
        super().__init__(message)


class BadInput(BadConfig):
    """What a hook tool was given to work on cannot be used: files, objects, test cases, names of bindings."""


class BadSetting(BadConfig):
    """A flag or an environment variable has a value that cannot be read."""


class BadKubeConfig(BadConfig):
    """No usable kubeconfig and not running in a pod, or credentials that cannot be loaded."""


class BadCertificate(BadConfig):
    """A certificate, its key or its CA cannot be read, or they do not belong together."""


class BadModule(BadConfig):
    """A module cannot be used as it is written: directory, name, `module.yaml`, schemas, requirements."""


class BadAddon(BadConfig):
    """An addon cannot be offered as it is written: directory, `addon.yaml`, the schema of its own fields."""


PatchReason = Literal["NoMatch", "Ambiguous", "MergeFailed", "NotAllowed", "SchemaInvalid"]


class BadPatch(BadConfig):
    """A patch of an instance cannot be applied. `reason` is that of the instance's condition Ready."""

    def __init__(self, reason: PatchReason, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class BadValues(BadConfig):
    """Values cannot be used: `problems` has one line each, with the path, what is wrong and which rule says so.

    `section` is the module's key, or `global`.
    """

    def __init__(self, section: str, problems: Sequence[str]) -> None:
        self.section = section
        self.problems = tuple(problems)
        super().__init__(f"{section}: " + "; ".join(problems))


class BadChart(BadConfig):
    """A chart cannot be loaded: `Chart.yaml`, a template's syntax, a missing dependency."""


class HookFailed(HookrunnerError):
    """A hook run ended badly."""


class BadOutput(HookFailed):
    """A hook ended with code 0 but wrote a file that cannot be read or is missing."""


class NoAnswer(BadOutput):
    """A hook ended with code 0 and did not answer the review that it was run for."""


class ReviewFailed(HookrunnerError):
    """No usable answer to an admission or conversion review; the message is for the user who made the request.

    `code` is the status code of the refusal. `ignorable` says that the webhook's failure policy is `Ignore`: the API
    server must then see a failed call, not a refusal.
    """

    def __init__(self, message: str, code: int = 403, ignorable: bool = False) -> None:
        self.code = code
        self.ignorable = ignorable
        super().__init__(message)


class FilterFailed(HookrunnerError):
    """A jq program failed on one object: error, deadline, memory, or a result that JSON cannot carry."""


class PatchFailed(HookrunnerError):
    """At least one object operation failed; the message names each."""


class ScriptFailed(HookrunnerError):
    """An `enabled` script gave no answer: exit code, deadline, or a text that is neither `true` nor `false`."""


class RenderFailed(HookrunnerError):
    """Templates could not be rendered. The message names template and line where the engine does."""


class BadManifest(RenderFailed):
    """A rendered template is no YAML, or no object. The message names template, document and line."""


class MissingValue(RenderFailed):
    """A placeholder in a package has no value. The message names file, placeholder and value."""


class RunObstructed(HookrunnerError):
    """A unit does not run now, and what is installed stays untouched. `obstacle` is what stands in the way, as its
    status has it."""

    def __init__(self, message: str, obstacle: object = None) -> None:
        self.obstacle = obstacle
        super().__init__(message)


class RunBlocked(RunObstructed):
    """A unit cannot run as it is: a gate is closed, or its package cannot be used. It is not tried again by time, but
    when one of its inputs has changed."""


class RunPostponed(RunObstructed):
    """A unit cannot run yet; what it waits for may come by itself. It is tried again after a back-off."""


class ReleaseFailed(HookrunnerError):
    """A release did not reach its desired state; the message names the objects, what is wrong with each, what to do.

    `brief` as for `KubeError`: that the server was away says nothing about the release. `invalid` are the objects
    (`<namespace>/<Kind>/<name>`) whose content the API server has refused. `lacks_rights` says that nothing else was
    wrong than missing rights of hookrunner.
    """

    def __init__(
        self, message: str, brief: bool = False, invalid: Sequence[str] = (), lacks_rights: bool = False
    ) -> None:
        self.brief = brief
        self.invalid = tuple(invalid)
        self.lacks_rights = lacks_rights
        super().__init__(message)


class ObjectsDeleted(ReleaseFailed):
    """Nothing else was wrong than objects that others have deleted: `deleted`, each as namespace ("" for cluster-scoped
    kinds), kind and name."""

    def __init__(self, message: str, deleted: Sequence[tuple[str, str, str]]) -> None:
        self.deleted = frozenset(deleted)
        super().__init__(message)


class ObjectOwned(ReleaseFailed):
    """Nothing else was wrong than objects that belong to others, and may not be adopted."""


PackageReason = Literal[
    "Unreachable",
    "NotFound",
    "Malformed",
    "TooLarge",
    "DigestMismatch",
    "DigestChanged",
    "Unverified",
    "NoChannel",
    "NoVersion",
]


class PackageError(HookrunnerError):
    """A package or a channel of an addon cannot be fetched, read or verified, or no version fits.

    `reason` is that of the instance's condition Ready. `brief` as for `KubeError`: the source may be back by itself;
    otherwise the source, the channel or the instance
    has to be corrected.
    """

    def __init__(self, reason: PackageReason, message: str) -> None:
        self.reason = reason
        self.brief = reason == "Unreachable"
        super().__init__(message)


class RegistrationFailed(HookrunnerError):
    """A webhook could not be served, registered or removed; the message says what is missing."""


class KubeError(HookrunnerError):
    """The Kubernetes API did not do what was asked. `brief` says that it passes by itself (no connection, a restart or
    an overload of the server); otherwise a person has to act: give rights, install a CRD, correct a request."""

    brief = False


class Unreachable(KubeError):
    """No answer: connection refused or reset, name not found, timeout, TLS error."""

    brief = True


class Cut(Unreachable):
    """The connection ended in the middle of an answer."""


class Silent(Unreachable):
    """An open stream carried nothing for longer than it may: half-open connections look like this."""


class NotLeader(KubeError):
    """A write was not sent: another replica may lead by now."""

    brief = True


class UnknownKind(KubeError):
    """Discovery knows no such resource. A CRD may appear later."""


class ApiError(KubeError):
    """The API server answered with an error status.

    `status` is the HTTP code (or the code of an ERROR watch event), `reason` the machine-readable word of the
    `Status` object, `retry_after` seconds if the server asked for a pause. `raw` is the server's message as it came,
    to be parsed and never to be shown: it quotes values, which the message of the error does not.
    Source: https://kubernetes.io/docs/reference/using-api/api-concepts/
    """

    def __init__(
        self, status: int, reason: str, message: str, retry_after: float | None = None, raw: str | None = None
    ) -> None:
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.raw = message if raw is None else raw
        self.brief = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
        super().__init__(message or f"HTTP {status} {reason}".rstrip())


class NotFound(ApiError):
    """404."""


class Conflict(ApiError):
    """409 on a write with a stale resourceVersion or a failed precondition."""


class AlreadyExists(ApiError):
    """409 with reason AlreadyExists."""


class Expired(ApiError):
    """410: the resourceVersion is gone, start again from a list."""


class Denied(ApiError):
    """401 or 403."""


class AccountDenied(Denied):
    """403 for the ServiceAccount as which a request acted: it lacks the right, whatever hookrunner may do."""


class Throttled(ApiError):
    """429, or a 5xx that names a Retry-After."""


def api_error(
    status: int, reason: str, message: str, retry_after: float | None = None, raw: str | None = None
) -> ApiError:
    """The right leaf for a status code and reason."""
    leaf = {401: Denied, 403: Denied, 404: NotFound, 409: Conflict, 410: Expired}.get(status, ApiError)
    if status == 409 and reason == "AlreadyExists":
        leaf = AlreadyExists
    if status == 429 or (status >= 500 and retry_after is not None):
        leaf = Throttled
    return leaf(status, reason, message, retry_after, raw)


def internal(error: BaseException) -> str:
    """`internal error: KeyError in queues.py line 12`: a bug, for those who see the state of a task. The text of the
    exception is left out, since it may quote a value; the log has it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {os.path.basename(frames[-1].filename)} line {frames[-1].lineno}" if frames else ""
    return f"internal error: {type(error).__name__}{place}"
