"""Is a CustomResourceDefinition right? Everything that is wrong with it, as the API server words it.

What stands equally in all versions (schema, subresources, columns, selectable fields) is reported once, at
`spec.validation`, `spec.subresources` and so on: the server moves it there before it looks.

https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/
"""

from collections.abc import Iterator, Sequence

from kubesandbox import names, trust
from kubesandbox.builtin.validation import webhooks
from kubesandbox.status import Cause, forbidden_field, required, unsupported, wrong
from kubesandbox.structural import rules, versions
from kubesandbox.structural.definitions import columns, constructs, structure
from kubesandbox.structural.definitions.definition_status import approval_problems, ca_bundle, stored_versions
from kubetypes.json_values import JSON

MOVED = ("subresources", "schema", "additionalPrinterColumns", "selectableFields")
SCOPES = ("Cluster", "Namespaced")
NO_RULES = "the sandbox does not evaluate x-kubernetes-validations until you pip install 'hookrunner[cel]', here"
UNWANTED = "should not be set when strategy is not set to Webhook"


def defaulted(crd: JSON) -> JSON:
    """A definition with what the API server adds: singular and list kind, conversion, the stored version."""
    spec = dict(crd["spec"])
    said = spec.get("names") or {}
    kind = said.get("kind", "")
    spec["names"] = said | {
        "singular": said.get("singular") or kind.lower(),
        "listKind": said.get("listKind") or (f"{kind}List" if kind else ""),
    }
    spec["names"] = {key: value for key, value in spec["names"].items() if value or key in ("plural", "kind")}
    spec["conversion"] = _with_port(spec.get("conversion") or {"strategy": "None"})
    spec["versions"] = [_with_flags(version) for version in spec.get("versions") or ()]
    if not spec.get("preserveUnknownFields"):
        spec.pop("preserveUnknownFields", None)
    result = {**crd, "spec": spec}
    status = dict(crd.get("status") or {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}})
    return result | {"status": status | {"storedVersions": stored_versions(result)}}


def problems(crd: JSON, old: JSON | None) -> list[Cause]:
    """What is wrong with a defaulted definition; `old` is what it replaces. Its metadata is checked elsewhere."""
    spec = crd["spec"]
    found = [] if old else list(_name(crd))
    if not (old and _was_right(old) and spec == old["spec"]):  # most changes are to the status, and schemas are long
        found += _spec(spec)
    if old is not None:
        found += [*_unchanged(spec, old), *_trust(crd, old)]
    found += _stored(crd)
    found += approval_problems(crd, old)
    if spec.get("preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        found.append(wrong("spec.preserveUnknownFields", True, why))
    return found


def _was_right(old: JSON) -> bool:
    """Has the definition been accepted? One that was put in unchecked (`contents.py`) has no conditions."""
    return bool((old.get("status") or {}).get("conditions"))


def warnings(crd: JSON) -> list[str]:
    """What to warn of: formats that are not checked, rules that the sandbox cannot evaluate without its CEL library."""
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") or {} for version in crd["spec"]["versions"]]
    strange = dict.fromkeys(name for schema in schemas for name in constructs.unrecognized_formats(schema))
    places = dict.fromkeys(place or "the object" for schema in schemas for place in rules.unevaluated(schema, ""))
    said = [f'unrecognized format "{name}"' for name in strange]
    return said + ([f"{NO_RULES}: {', '.join(places)}"] if places else [])


def _with_port(conversion: JSON) -> JSON:
    """A conversion whose Service has a port."""
    webhook = conversion.get("webhook") or {}
    client = webhook.get("clientConfig") or {}
    if client.get("service") is None:
        return conversion
    service = {"port": 443, **client["service"]}
    return conversion | {"webhook": webhook | {"clientConfig": client | {"service": service}}}


def _with_flags(version: JSON) -> JSON:
    return {**version, "served": bool(version.get("served")), "storage": bool(version.get("storage"))}


def _name(crd: JSON) -> Iterator[Cause]:
    wanted = f"{crd['spec']['names'].get('plural', '')}.{crd['spec'].get('group', '')}"
    if crd["metadata"].get("name") != wanted:
        yield wrong("metadata.name", crd["metadata"].get("name", ""), 'must be spec.names.plural+"."+spec.group')


def _spec(spec: JSON) -> Iterator[Cause]:
    yield from _group(spec.get("group", ""))
    yield from _one_of("spec.scope", spec.get("scope", ""), SCOPES)
    versions = spec["versions"]
    if versions and (said := names.old_label(versions[0].get("name", ""))):
        yield wrong("spec.version", versions[0].get("name", ""), ",".join(said))
    same = _moved(versions)
    for index, version in enumerate(versions):
        yield from _version(version, f"spec.versions[{index}]", same)
    yield from _versions(versions)
    yield from _names(spec["names"], "spec.names")
    if versions:
        yield from _parts({key: versions[0].get(key) for key in same}, "spec", spec)
    yield from _conversion(spec["conversion"])


def _group(group: str) -> Iterator[Cause]:
    if not group:
        yield required("spec.group")
    elif said := names.subdomain(group):
        yield wrong("spec.group", group, ",".join(said))
    elif "." not in group:
        yield wrong("spec.group", group, "should be a domain with at least one dot")


def _one_of(field: str, value: str, choices: Sequence[str]) -> Iterator[Cause]:
    if not value:
        yield required(field)
    elif value not in choices:
        yield unsupported(field, value, choices)


def _moved(versions: Sequence[JSON]) -> list[str]:
    """What is the same in all versions."""
    return [key for key in MOVED if all(one.get(key) == versions[0].get(key) for one in versions)] if versions else []


def _version(version: JSON, field: str, same: Sequence[str]) -> Iterator[Cause]:
    if said := names.old_label(version.get("name", "")):
        yield wrong(f"{field}.name", version.get("name", ""), ",".join(said))
    yield from _deprecation(version, field)
    yield from _parts({key: value for key, value in version.items() if key not in same}, field, version)


def _deprecation(version: JSON, field: str) -> Iterator[Cause]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    rules = (
        (not version.get("deprecated"), "can only be set for deprecated versions"),
        (version.get("deprecated") and len(warning.encode()) > 256, "must be <= 256 characters long"),
        (version.get("deprecated") and not warning, "must not be an empty string"),
    )
    yield from (wrong(f"{field}.deprecationWarning", warning, said) for broken, said in rules if broken)


def _parts(parts: JSON, field: str, whole: JSON) -> Iterator[Cause]:
    """Schema, subresources, columns and selectable fields, of one version or of all. `whole` is where they stand."""
    schema = (parts.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        inside = f"{field}.{'validation' if 'versions' in whole else 'schema'}.openAPIV3Schema"
        yield from structure.problems(schema, inside, with_status=_has_status(whole))
    yield from columns.subresources(parts.get("subresources") or {}, f"{field}.subresources")
    for index, column in enumerate(parts.get("additionalPrinterColumns") or ()):
        yield from columns.printer(column, f"{field}.additionalPrinterColumns[{index}]")
    yield from columns.selectable(parts.get("selectableFields") or (), whole, f"{field}.selectableFields")


def _has_status(whole: JSON) -> bool:
    holders = whole.get("versions", [whole])
    return any((one.get("subresources") or {}).get("status") is not None for one in holders)


def _versions(versions: Sequence[JSON]) -> Iterator[Cause]:
    if any((one.get("schema") or {}).get("openAPIV3Schema") is None for one in versions):
        for index, version in enumerate(versions):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    if len({one.get("name") for one in versions}) < len(versions):
        yield wrong("spec.versions", versions, "must contain unique version names")
    if sum(one["storage"] for one in versions) != 1:
        yield wrong("spec.versions", versions or None, "must have exactly one version marked as storage version")


def _names(said: JSON, field: str) -> Iterator[Cause]:
    yield from (required(f"{field}.{key}") for key in ("plural", "singular", "kind", "listKind") if not said.get(key))
    for key in ("plural", "singular"):
        if said.get(key) and (broken := names.old_label(said[key])):
            yield wrong(f"{field}.{key}", said[key], ",".join(broken))
    for key in ("kind", "listKind"):
        if said.get(key) and (broken := names.old_label(said[key].lower())):
            why = f"may have mixed case, but should otherwise match: {','.join(broken)}"
            yield wrong(f"{field}.{key}", said[key], why)
    if said.get("kind") and said["kind"] == said.get("listKind"):
        yield wrong(f"{field}.listKind", said["listKind"], "kind and listKind may not be the same")
    for key in ("shortNames", "categories"):
        for index, name in enumerate(said.get(key) or ()):
            if broken := names.old_label(name):
                yield wrong(f"{field}.{key}[{index}]", name, ",".join(broken))


def _conversion(said: JSON) -> Iterator[Cause]:
    strategy = said.get("strategy", "")
    yield from _one_of("spec.conversion.strategy", strategy, ("None", "Webhook"))
    webhook = said.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions")
    at_client, at_reviews = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"
    if strategy != "Webhook":
        yield from (forbidden_field(at_client, UNWANTED) for _ in [client] if client is not None)
        yield from (forbidden_field(at_reviews, UNWANTED) for _ in [reviews] if reviews)
        return
    if client is None:
        yield required(at_client, "required when strategy is set to Webhook")
    else:
        yield from webhooks.client(client, at_client)
    yield from webhooks.review_versions(reviews or [], at_reviews, "")


def _trust(crd: JSON, old: JSON) -> Iterator[Cause]:
    """A webhook of a served version keeps a `caBundle` that can be read, if it had one."""
    bundle, known = ca_bundle(crd), ca_bundle(old)
    if versions.established(old) and bundle and not trust.readable(bundle) and (not known or trust.readable(known)):
        why = "unable to load root certificates: unable to parse bytes as PEM block"
        yield wrong("spec.conversion.webhookClientConfig.caBundle", bundle, why)


def _unchanged(spec: JSON, old: JSON) -> Iterator[Cause]:
    """What may not change: group and plural never, scope and kind once the definition is served."""
    fixed = [("group", spec.get("group"), old["spec"]["group"])]
    fixed.append(("names.plural", spec["names"].get("plural"), old["spec"]["names"]["plural"]))
    if versions.established(old):
        fixed.insert(0, ("names.kind", spec["names"].get("kind"), old["spec"]["names"]["kind"]))
        fixed.insert(0, ("scope", spec.get("scope"), old["spec"]["scope"]))
    yield from (wrong(f"spec.{key}", new, "field is immutable") for key, new, before in fixed if new != before)


def _stored(crd: JSON) -> Iterator[Cause]:
    """Versions that may still be stored must stay."""
    there = {version.get("name") for version in crd["spec"]["versions"]}
    stored = stored_versions(crd)
    if not stored:
        yield wrong("status.storedVersions", None, "must have at least one stored version")
        return
    for version in crd["spec"]["versions"]:
        if version["storage"] and version["name"] not in stored:
            yield wrong("status.storedVersions", stored, f"must have the storage version {version['name']}")
    for index, name in enumerate(stored):
        if name not in there:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions"
                f" until a storage migration ensures no data remains persisted in {name} and removes {name} from"
                " status.storedVersions"
            )
            yield wrong(f"status.storedVersions[{index}]", name, why)
