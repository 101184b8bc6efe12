"""What a conversion webhook's reply says, and what is wrong with it, in the words of a real API server. Pure.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#response
"""

from collections.abc import Sequence

import orjson

from kubesandbox.builtin import metadata
from kubesandbox.verbs.rules import Object
from kubesandbox.webhooks.reviews import BadReview, parsed
from kubetypes.json_values import JSON

GROUP, KIND = "apiextensions.k8s.io", "ConversionReview"
OBJECT, TYPE, METADATA = "object", "object at index 0", "metadata"
CHANGEABLE = ("labels", "annotations")
"""All that a conversion may change in the metadata."""


class BadObject(Exception):
    """An object came back as something else; says why. `what` is what is wrong: the object, what it says of itself, its
    metadata; "" for what is no object at all."""

    def __init__(self, why: str, what: str = "") -> None:
        super().__init__(why)
        self.what = what

    def told(self, about: str, at: int, many: int) -> str:
        """The message for one of several objects."""
        if many > 1:
            place = "invalid metadata in object" if self.what == METADATA else "invalid converted object"
            return f"{about} returned {place} at index {at}: {self}"
        return f"{about} returned invalid {self.what}: {self}" if self.what else str(self)


def review(version: str, uid: str, objects: Sequence[Object], wanted: str) -> Object:
    """The body of the request. `wanted` is an apiVersion."""
    request = {"uid": uid, "desiredAPIVersion": wanted, "objects": objects}
    return {"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request}


def read(text: bytes, version: str, uid: str) -> list[JSON]:
    """The objects of a reply. Raises `BadReply`, `BadReview`."""
    said = parsed(text, GROUP, KIND)
    response = said.get("response")
    if version == "v1":
        _check_kind(said)
    if not isinstance(response, dict):
        raise BadReview("no response provided")
    if version == "v1" and (told := response.get("uid") or "") != uid:
        raise BadReview(f'expected response.uid="{uid}", got "{told}"')
    given = response.get("result")
    result = given if isinstance(given, dict) else {}
    if (outcome := result.get("status") or "") != "Success":
        raise BadReview(result.get("message") or f"response.result.status was '{outcome}', not 'Success'")
    objects = response.get("convertedObjects") or []
    return objects if isinstance(objects, list) else [objects]


def _check_kind(said: Object) -> None:
    group, _, version = (said.get("apiVersion") or "").rpartition("/")
    found, wanted = f"{group}/{version}, Kind={said.get('kind') or ''}", f"{GROUP}/v1, Kind={KIND}"
    if found != wanted:
        raise BadReview(f"expected webhook response of {wanted}, got {found}")


def checked(before: Object, after: JSON, wanted: str) -> Object:
    """A converted object, its metadata as it was but for labels and annotations. A new object.

    Raises `BadObject`.
    """
    if not isinstance(after, dict):
        raise BadObject(f"json: cannot unmarshal {_type(after)} into Go value of type map[string]interface {{}}")
    if not isinstance(after.get("kind"), str) or not after["kind"]:
        raise BadObject(f"Object 'Kind' is missing in '{orjson.dumps(after).decode()}'")
    _check_type(before, after, wanted)
    _check_identity(before, after)
    return after | {"metadata": _restored(before, after)}


def _check_type(before: Object, after: Object, wanted: str) -> None:
    if (found := after.get("apiVersion") or "") != wanted:
        raise BadObject(f"invalid groupVersion (expected {wanted}, received {found})", TYPE)
    if after["kind"] != before["kind"]:
        raise BadObject(f"invalid kind (expected {before['kind']}, received {after['kind']})", TYPE)


def _check_identity(before: Object, after: Object) -> None:
    given = after.get("metadata")
    new, old = given if isinstance(given, dict) else {}, before["metadata"]
    for key, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        if (found := new.get(key) or "") != (known := old.get(key) or ""):
            raise BadObject(f"must have the same {shown}: {known} != {found}", OBJECT)


def _restored(before: Object, after: Object) -> Object:
    given = after.get("metadata")
    if not isinstance(given, dict):
        raise BadObject("missing metadata in converted object", METADATA)
    meta = {key: value for key, value in before["metadata"].items() if key not in CHANGEABLE}
    for key in CHANGEABLE:
        value = given.get(key)
        if value is None:
            continue
        if not isinstance(value, dict):
            raise BadObject(f"invalid metadata.{key} of type {_type(value)} in converted object", METADATA)
        _check_texts(key, value)
        meta[key] = value
    return meta


def _check_texts(key: str, given: Object) -> None:
    for name, value in given.items():
        if not isinstance(value, str):
            why = f"metadata.{key}[{name}] must be a string, but is {_type(value)} in converted object"
            raise BadObject(why, METADATA)
    check = metadata.labels if key == "labels" else metadata.annotations
    causes = list(check(given, "metadata.labels" if key == "labels" else "metadata.annotation"))
    if causes:
        said = [f"{cause.field}: {cause.message}" for cause in causes]
        raise BadObject(said[0] if len(said) == 1 else f"[{', '.join(said)}]", METADATA)


def _type(value: JSON) -> str:
    """Go's name of a value's type."""
    names: dict[type, str] = {
        str: "string",
        bool: "bool",
        int: "int64",
        float: "float64",
        list: "[]interface {}",
        dict: "map[string]interface {}",
    }
    return names.get(type(value), "<nil>")
