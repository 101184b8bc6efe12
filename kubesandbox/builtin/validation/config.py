"""ConfigMaps, Secrets, ServiceAccounts, Namespaces."""

import base64

from kubesandbox import names
from kubesandbox.builtin.validation.common import UNCHANGEABLE, Causes, Object, named
from kubesandbox.status import forbidden_field, required, too_long, wrong
from kubetypes import json_values

LIMIT = 1024 * 1024
LOCKED = "field is immutable when `immutable` is set"
KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
"""What a type of Secret must have."""
BASIC = ("username", "password")
SERVICE_ACCOUNT = "kubernetes.io/service-account.name"


def config_map(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/configuration/configmap/"""
    if old and old.get("immutable"):
        yield from _locked(obj, old, "data", "binaryData")
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        yield from named(key, f"data[{key}]", names.data_key)
        if key in binary:
            yield wrong(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += len(value) if value.isascii() else len(value.encode())
    for key, value in binary.items():
        yield from named(key, f"binaryData[{key}]", names.data_key)
        size += _length(value)
    if size > LIMIT:
        yield too_long("", LIMIT)


def _length(coded: str) -> int:
    return len(coded) // 4 * 3 - coded.count("=", -2)


def _locked(obj: Object, old: Object, *keys: str) -> Causes:
    if not obj.get("immutable"):
        yield forbidden_field("immutable", LOCKED)
    for key in keys:
        if (obj.get(key) or {}) != (old.get(key) or {}):
            yield forbidden_field(key, LOCKED)


def secret(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/configuration/secret/"""
    if old:
        if obj.get("type") != old.get("type"):
            yield wrong("type", obj.get("type", ""), UNCHANGEABLE)
        if old.get("immutable"):
            yield from _locked(obj, old, "data")
    data, size = obj.get("data") or {}, 0
    for key, value in data.items():
        yield from named(key, f"data[{key}]", names.data_key)
        size += _length(value)
    if size > LIMIT:
        yield too_long("data", LIMIT)
    yield from _by_type(obj, data)


def _by_type(obj: Object, data: Object) -> Causes:
    kind = obj.get("type", "")
    for key in KEYS.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")
        elif "docker" in kind and not _is_json(data[key]):
            yield wrong(f"data[{key}]", "<secret contents redacted>", "invalid character")
    if kind == "kubernetes.io/basic-auth" and not any(key in data for key in BASIC):
        for key in BASIC:
            yield required(f"data[{key}]")
    account = (obj["metadata"].get("annotations") or {}).get(SERVICE_ACCOUNT)
    if kind == "kubernetes.io/service-account-token" and not account:
        yield required(f"metadata.annotations[{SERVICE_ACCOUNT}]")


def _is_json(coded: str) -> bool:
    try:
        json_values.loads(base64.b64decode(coded))
    except ValueError:
        return False
    return True


def namespace(obj: Object, old: Object | None) -> Causes:
    """Its finalizers are names with a prefix, or one of the API's own."""
    for one in (obj.get("spec") or {}).get("finalizers") or ():
        if "/" not in one and one not in ("kubernetes", "orphan", "foregroundDeletion"):
            yield wrong("spec.finalizers", one, "name is neither a standard finalizer name nor is it fully qualified")
        yield from named(one, "spec.finalizers", names.qualified)


CHECKS = {"configmaps": config_map, "secrets": secret, "namespaces": namespace}
