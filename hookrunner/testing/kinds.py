"""What a kind is called, without a cluster to ask: bindings and rules may name a kind, its plural or a short name.

Built-in kinds are those of a stock Kubernetes; custom ones come from the given CustomResourceDefinitions. A kind
without a definition gets its plural by the rules of English.
"""

from collections.abc import Sequence

from hookrunner.model.resources import JSON
from kubetypes import builtin_kinds


def is_called(name: str, obj: JSON, given: Sequence[JSON]) -> bool:
    """Whether `name`, in any case, means the kind of this object."""
    names = [obj["kind"], plural(obj, given)]
    if kind := builtin_kinds.names().get((_group(obj), obj["kind"])):
        names += kind.short_names
    defined = _definition(obj, given)
    names += [defined.get("singular", ""), *defined.get("shortNames", [])]
    return name.lower() in map(str.lower, names)


def plural(obj: JSON, given: Sequence[JSON]) -> str:
    """The resource of an object's kind."""
    if kind := builtin_kinds.names().get((_group(obj), obj["kind"])):
        return kind.plural
    if names := _definition(obj, given):
        return str(names.get("plural", ""))
    word: str = obj["kind"].lower()
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def _group(obj: JSON) -> str:
    return str(obj.get("apiVersion", "")).rpartition("/")[0]


def _definition(obj: JSON, given: Sequence[JSON]) -> JSON:
    """The `names` of the CustomResourceDefinition, if it is given."""
    for one in given:
        if one["kind"] == "CustomResourceDefinition" and one.get("spec", {}).get("group") == _group(obj):
            names = one["spec"].get("names", {})
            if names.get("kind") == obj["kind"]:
                return names
    return {}
