"""Admission and conversion reviews without HTTP around them: the requests of the API server and the answers of hooks.

At the end the paths at which the servers answer: one home for registration and for serving.

`web` makes them of requests and answers of them, `engine` has a hook decide. Keys of `request` are the API's own.
Source: https://kubernetes.io/docs/reference/config-api/apiserver-admission.v1/,
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

import orjson

from hookrunner.model import contexts
from hookrunner.model.bindings import ReviewKind
from hookrunner.model.json_objects import NO_OBJECTS, JsonObjects
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

DENIED = 403
"""The status code of a refusal that names none."""

SHOWN = 1000
"""Characters of a text from outside that are logged: 8 MB of it are seconds without an answer to any other review."""


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """The `request` of an admission review: JSON for the hook, as text, and beside it what we need of it ourselves.

    As a text because reviews wait: a Python value of it would take 5 to 25 times as much memory for as long.
    """

    text: bytes
    uid: str
    dry_run: bool
    subject: Mapping[str, JSON]
    """What it is about and who asks, for the log, as far as it is there."""

    @classmethod
    def of(cls, request: JSON) -> "AdmissionRequest":
        """Of a parsed request, whose `uid` is a text. It was read within our bounds, so it is not too deep to be
        written."""
        text = orjson.dumps(contexts.admission_request(request))
        return cls(text, request["uid"], bool(request.get("dryRun")), _subject(request))


def _subject(request: JSON) -> dict[str, JSON]:
    """It may be anything: any client can ask."""
    fields = {key: request.get(key) for key in ("operation", "namespace", "name", "dryRun")}
    for key, inner in (("kind", "kind"), ("userInfo", "username")):
        fields[inner] = outer.get(inner) if isinstance(outer := request.get(key), dict) else None
    texts = {key: value[:SHOWN] if isinstance(value, str) else value for key, value in fields.items() if value}
    return {key: value for key, value in texts.items() if value is True or isinstance(value, str)}


@dataclass(frozen=True, slots=True)
class VersionGroup:
    """Objects of one version, with their positions among all objects of the request."""

    objects: JsonObjects = NO_OBJECTS
    positions: Sequence[int] = ()


def merged(one: VersionGroup, other: VersionGroup) -> VersionGroup:
    """The objects of both, in the order of their positions."""
    pairs = sorted([*zip(one.positions, one.objects, strict=True), *zip(other.positions, other.objects, strict=True)])
    return VersionGroup(JsonObjects.joined(text for _, text in pairs), array("Q", [position for position, _ in pairs]))


@dataclass(frozen=True, slots=True)
class ConversionRequest:
    """The `request` of a conversion review: its objects by their apiVersion, and what we need of it ourselves.

    `head` is the request without its objects, as JSON; `malformed` has the numbers of what is no object, by what is
    wrong; `kinds` are lowercase.
    """

    uid: str
    desired: str
    head: bytes
    groups: Mapping[str, VersionGroup]
    malformed: Mapping[str, Sequence[int]]
    kinds: frozenset[str]

    @classmethod
    def of(cls, request: JSON) -> "ConversionRequest":
        """Of a parsed request, whose `uid` and `desiredAPIVersion` are texts and whose `objects` are a list. It was
        read within our bounds, so it is not too deep to be written."""
        objects = request["objects"]
        head = orjson.dumps({key: value for key, value in request.items() if key != "objects"})
        versions, malformed = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for position, obj in enumerate(objects):
            if wrong := malformation(obj):
                malformed[wrong].append(position + 1)
            else:
                versions[obj["apiVersion"]].append(position)
        groups = {
            version: VersionGroup(JsonObjects.of(objects[position] for position in positions), array("Q", positions))
            for version, positions in versions.items()
        }
        kinds = frozenset(str(obj.get("kind")).lower() for obj in objects if isinstance(obj, dict))
        return cls(request["uid"], request["desiredAPIVersion"], head, groups, dict(malformed), kinds)


def malformation(obj: JSON) -> str:
    """Why this is no object that can be converted; empty if it is one."""
    if not isinstance(obj, dict):
        return "not an object"
    if not isinstance(obj.get("metadata"), dict) or not isinstance(obj.get("apiVersion"), str):
        return "an object without `metadata` or `apiVersion`"
    return ""


@dataclass(frozen=True, slots=True)
class AdmissionReview:
    """May this be done? `webhook` is the webhook's id, the last part of its path; `api_version` the review's own.

    `deadline` is the event loop's time after which the verdict is no longer needed.
    """

    webhook: str
    api_version: str
    request: AdmissionRequest
    deadline: float


@dataclass(frozen=True, slots=True)
class ConversionReview:
    """Give me these objects in another version. `definition` is the name of their CustomResourceDefinition."""

    definition: str
    api_version: str
    request: ConversionRequest
    deadline: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A hook's answer to an admission review. `code` counts for a refusal; `patch` are the steps of a JSON patch."""

    allowed: bool
    message: str = ""
    code: int = DENIED
    warnings: tuple[str, ...] = ()
    audit: Mapping[str, str] = field(default_factory=dict)
    patch: Sequence[JSON] = ()


@dataclass(frozen=True, slots=True)
class Converted:
    """A hook's answer to one step of a conversion: the objects, or why it has converted none."""

    objects: JsonObjects = NO_OBJECTS
    failure: str = ""


class Reviewer(Protocol):
    """Answers reviews."""

    def unknown(self, kind: ReviewKind, name: str) -> str:
        """Why no hook answers reviews of this webhook or definition; empty if one does."""
        ...

    async def admit(self, review: AdmissionReview) -> Verdict:
        """Raises ReviewFailed if there is no verdict."""
        ...

    async def convert(self, review: ConversionReview) -> JsonObjects:
        """All objects of the request, in its order, in the wanted version. Raises ReviewFailed."""
        ...

    def missing(self) -> str:
        """What still has to come before reviews can be answered at once; empty if nothing."""
        ...


ADMISSION = "/hooks/"
"""What all paths of admission webhooks begin with."""

_CAPITAL = re.compile(r"(?=[A-Z])")
_UNSAFE = re.compile(r"[^a-z0-9/]+")


def webhook_id(name: str, unit: str = "") -> str:
    """A binding's name as it stands in a URL: `importantHook` → `important-hook`, `my.example.com` → `my-example-com`;
    `cert-manager/my-example-com` for a hook of that module.

    Different names may have one id.
    """
    identifier = _UNSAFE.sub("-", _CAPITAL.sub("-", name).lower())
    return f"{unit}/{identifier}" if unit else identifier


def webhook_name(name: str, unit: str = "") -> str:
    """What a binding is called in the cluster, where two modules may have webhooks of one name."""
    return f"{unit}.{name}" if unit else name


def admission_path(name: str, unit: str = "") -> str:
    """The path of a `kubernetesValidating` or `kubernetesMutating` binding."""
    return ADMISSION + webhook_id(name, unit)


def unit_of(path: str) -> str:
    """Whose hook answers at an admission path: a module's name, empty for a hook of none."""
    return path.removeprefix(ADMISSION).rpartition("/")[0]


def conversion_path(definition: str) -> str:
    """The path that converts objects of a CustomResourceDefinition, by its name."""
    return f"/{definition}"
