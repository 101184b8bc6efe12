"""Warns if there may be several replicas: no leader is elected for hooks and modules, so that each would run all of
them.

Nothing is stopped: which replica is meant cannot be known, and a program that refuses to run would be worse than one
that does its work twice. The Deployment is looked at only where our rights allow it.
"""

import asyncio
from collections.abc import Iterator, Mapping

from hookrunner import log
from hookrunner.errors import ApiError, KubeError
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.resources import Resource
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

PAUSE = 300.0
"""Seconds between two looks: someone may scale the Deployment later."""

_CHAIN = (
    Resource("v1", "Pod", "pods", True),
    Resource("apps/v1", "ReplicaSet", "replicasets", True),
    Resource("apps/v1", "Deployment", "deployments", True),
)
_HA = "ADDON_OPERATOR_HA asks for several replicas"
_ADVICE = "each replica runs all hooks and modules, since none is elected to lead; set one replica"

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class OwnPod:
    """The Pod that this process runs in."""

    namespace: str
    name: str


class ReplicaCheck:
    """Looks for other replicas. `pod` is None outside a cluster; `is_asked_for` says that the settings ask for
    several."""

    def __init__(self, client: Client, pod: OwnPod | None, is_asked_for: bool) -> None:
        self._client = client
        self._pod = pod
        self._asked = _HA if is_asked_for else ""
        self._found = ""
        self._report("")

    @property
    def _problem(self) -> str:
        return self._found or self._asked

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """The condition for `/readyz`, which does not make anything unready; empty without a problem."""
        return {"replicas": (True, f"{self._problem}: {_ADVICE}")} if self._problem else {}

    async def run(self) -> None:
        """Look now and then, until there is nothing to look at or no right to look at it."""
        while self._pod:
            try:
                with tolerated_refusals():
                    deployment = await self._read_deployment(self._pod)
            except ApiError as error:
                _log.debug("cannot look for other replicas", error=error)
                return
            except KubeError:
                pass  # the server is unavailable: look again later
            else:
                if deployment is None:
                    return
                self._compare(deployment)
            await asyncio.sleep(PAUSE)

    async def _read_deployment(self, pod: OwnPod) -> JSON | None:
        """The Deployment that owns our Pod, None if something else does. Raises KubeError."""
        name, owned = pod.name, None
        for resource, owner in zip(_CHAIN, (*_CHAIN[1:], None), strict=True):
            owned = await writes.read(self._client, ObjectRef(resource, pod.namespace, name))
            if owner:
                name = next(_owners(owned["metadata"], owner.kind), "")
                if not name:
                    return None
        return owned

    def _compare(self, deployment: JSON) -> None:
        replicas = deployment["spec"].get("replicas", 1)
        before, name = self._problem, deployment["metadata"]["name"]
        self._found = f"the Deployment {name} has {replicas} replicas" if replicas > 1 else ""
        self._report(before)

    def _report(self, before: str) -> None:
        if self._problem not in ("", before):
            _log.error(f"{self._problem}: {_ADVICE}")


def _owners(metadata: Mapping[str, JSON], kind: str) -> Iterator[str]:
    """The names of an object's controllers of this kind."""
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller") and owner["kind"] == kind:
            yield owner["name"]
