"""The same writes on a real API server and through `kubesandbox.fields`, compared after each."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from kubesandbox import fields
from kubesandbox.kinds import Kind
from kubesandbox.status import Refused
from kubetypes.json_values import JSON
from tests.kubesandbox.oracle import Oracle
from tests.kubesandbox.recording import same_each_time

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
WRITTEN = (HTTPStatus.OK, HTTPStatus.CREATED)
NEVER = "2001-01-01T00:00:00Z"
DONE = "NewReplicaSetAvailable"
"""Why a Deployment is Progressing once its controller has nothing more to write."""
SERVERS = ("uid", "resourceVersion", "creationTimestamp", "generation", "namespace")


class Replay:
    """One object's life there and here. Every method gives what the server answered."""

    def __init__(self, oracle: Oracle, kind: Kind, name: str) -> None:
        self._oracle = oracle
        self._kind = kind
        root = f"/apis/{kind.group}" if kind.group else "/api"
        self._collection = f"{root}/{kind.version}/{{ns}}/{kind.plural}"
        self.name = name
        self.live: JSON = None
        self._step = 0

    def create(self, manager: str, obj: JSON, allocated: Sequence[str] = ()) -> JSON:
        """POST. What the server adds to the `spec` by itself, not as a default, has no owner."""
        code, body = self._ask("POST", self._collection, obj, fieldManager=manager)
        spec = {key: value for key, value in body.get("spec", {}).items() if key not in allocated}
        self._wrote(manager, "", obj, (code, {**body, "spec": spec} if spec else body))
        self.live = body
        return body

    def put(self, manager: str, obj: JSON, subresource: str = "") -> JSON:
        """PUT."""
        path = self.path(subresource)
        return self._wrote(manager, subresource, obj, self._ask("PUT", path, obj, fieldManager=manager))

    def patch(self, manager: str, patch: JSON, subresource: str = "") -> JSON:
        """A merge patch."""
        query = {"fieldManager": manager}
        answer = self._ask("PATCH", self.path(subresource), patch, content_type=MERGE, **query)
        return self._wrote(manager, subresource, patched(self.live, patch), answer)

    def apply(self, manager: str, config: JSON, *, force: bool = False, subresource: str = "") -> JSON:
        """Server-side apply; a refusal is an answer too."""
        query = {"fieldManager": manager, "force": str(force).lower()}
        code, body = self._ask("PATCH", self.path(subresource), config, content_type=APPLY, **query)
        write = self._write(manager, subresource, body)
        mine = outcome(lambda: fields.applied(self.live, config, self._kind, write, force))
        if isinstance(mine, Refused):
            assert essence(mine.json()) == essence(body)
        elif code != HTTPStatus.UNPROCESSABLE_ENTITY:  # That is what was merged, and then found invalid.
            assert code in WRITTEN, body
            assert fields_of(mine) == fields_of(body)
            assert within(trimmed(mine, subresource), trimmed(body, subresource))
            self.live = body
        return body

    def scale(self, manager: str, count: int) -> JSON:
        """A merge patch of `scale`; gives the object."""
        live = self.read()
        patch = {"spec": {"replicas": count}}
        code, _ = self._ask("PATCH", self.path("scale"), patch, content_type=MERGE, fieldManager=manager)
        new = {**live, "spec": {**live["spec"], "replicas": count}}
        mine = fields.updated(live, new, self._kind, fields.Write(manager, NEVER, "scale"))
        assert code == HTTPStatus.OK
        assert fields_of(mine) == fields_of(self.read())
        return self.live

    def read(self) -> JSON:
        """What is there now, once controllers have seen its newest generation and are done with it."""
        self._step += 1
        while True:
            _, self.live = self._oracle.ask("GET", self.path(), known_as=self._step)
            generation, status = self.live["metadata"].get("generation"), self.live.get("status", {})
            unseen = 0 if self._kind.group == "apps" else generation
            reasons = {one["type"]: one.get("reason") for one in status.get("conditions", ())}
            if (status.get("observedGeneration", unseen), reasons.get("Progressing", DONE)) == (generation, DONE):
                return self.live

    def path(self, subresource: str = "") -> str:
        return f"{self._collection}/{self.name}/{subresource}".rstrip("/")

    def _ask(self, method: str, path: str, body: JSON, **more: str) -> Any:
        """What the server answers to this step: to the same request it may say something else at another one."""
        self._step += 1
        return self._oracle.ask(method, path, body, known_as=[self._step, same_each_time(body)], **more)

    def _wrote(self, manager: str, subresource: str, obj: JSON, answer: tuple[int, JSON]) -> JSON:
        code, body = answer
        if code == HTTPStatus.UNPROCESSABLE_ENTITY:
            return body
        assert code in WRITTEN, body
        mine = fields.updated(self.live, handled(obj, body), self._kind, self._write(manager, subresource, body))
        assert fields_of(mine) == fields_of(body)
        self.live = body
        return body

    def _write(self, manager: str, subresource: str, body: JSON) -> fields.Write:
        """At the time that the server put; at one that never was if the server changed nothing."""
        times = [entry.get("time", "") for entry in body.get("metadata", {}).get("managedFields", ())]
        unchanged = self.live is not None and body.get("metadata") == self.live["metadata"]
        return fields.Write(manager, NEVER if unchanged else max(times, default=NEVER), subresource)


def handled(obj: JSON, body: JSON) -> JSON:
    """What was sent with the defaults that are in the answer, as it is when managed fields are computed."""
    sent = obj.get("metadata", {}).get("managedFields")
    full = filled(obj, {**body, "metadata": {**body["metadata"], "managedFields": None}})
    metadata = {key: value for key, value in full["metadata"].items() if key != "managedFields"}
    return {**full, "metadata": metadata if sent is None else {**metadata, "managedFields": sent}}


CONTROLLERS = ("kube-controller-manager", "kube-scheduler", "kwok")


def fields_of(obj: JSON) -> Any:
    """Managed fields; those of the real controllers, which come at any moment, are left out."""
    found = obj["metadata"].get("managedFields")
    return found and [entry for entry in found if entry.get("manager") not in CONTROLLERS]


def patched(target: JSON, patch: JSON) -> JSON:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), value)
    return result


def filled(sent: JSON, kept: JSON) -> JSON:
    """What was sent, with what the server filled in around it."""
    if isinstance(sent, list) and isinstance(kept, list) and len(sent) == len(kept):
        return list(map(filled, sent, kept))
    if not isinstance(sent, dict) or not isinstance(kept, dict):
        return sent
    return {**{key: kept[key] for key in kept}, **{key: filled(sent[key], kept.get(key)) for key in sent}}


def trimmed(obj: JSON, subresource: str) -> JSON:
    """The part that a write changes, without what the server gives."""
    if subresource:
        return obj.get(subresource)
    metadata = {key: value for key, value in obj["metadata"].items() if key not in (*SERVERS, "managedFields")}
    return {**obj, "metadata": metadata, "status": None}


def within(mine: JSON, real: JSON) -> bool:
    """Whether the server's object has all that is in mine: it only added defaults, and dropped null."""
    if isinstance(mine, dict) and isinstance(real, dict):
        return all(within(one, real.get(key)) for key, one in mine.items())
    if isinstance(mine, list) and isinstance(real, list):
        return len(mine) == len(real) and all(map(within, mine, real))
    return mine is None or bool(mine == real)


def outcome(call: Callable[[], JSON]) -> JSON | Refused:
    try:
        return call()
    except Refused as refused:
        return refused


def essence(status: JSON) -> JSON:
    causes = status.get("details", {}).get("causes", ())
    return {
        **{key: status.get(key) for key in ("code", "reason", "message")},
        "causes": sorted(tuple(one.items()) for one in causes),
    }
