"""Strategic merge patch: objects merge, lists merge where the schema says by which key, directives delete and order.

https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md has
the directives. A patch that contradicts the schema (an element without its merge key, an unknown `$patch`) is answered
with 500 by a real API server, and refused here. Only built-in kinds have such patches.
"""

from collections import deque
from dataclasses import replace

import orjson

from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.openapi.schemas import Schema
from kubetypes.patches.ordering import Identity, first_places, identity, in_order, not_a
from kubetypes.patches.printed import LIST, OBJECT, as_text, printed, wrong_type
from kubetypes.patches.refusals import contradiction, malformed

DIRECTIVE = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder"
DELETE_FROM = "$deleteFromPrimitiveList"

Fields = dict[str, JSON]


@dataclass(frozen=True, slots=True)
class MergeRule:
    """How a field's list is patched: element by element or as a whole, and the key that identifies elements."""

    items: Schema
    merge: bool
    key: str


def apply(document: JSON, patch: JSON, schema: Schema) -> JSON:
    """The patched document; it shares nothing with the input. `schema` is the kind's.

    Raises `PatchRefused`: 400 for malformed directives, 500 for what contradicts the schema.
    """
    if not isinstance(patch, dict | None):
        raise malformed(wrong_type(patch, f"Go value of type {OBJECT}"))
    return orjson.loads(orjson.dumps(_merged(document, patch or {}, schema)))


def _merged(original: Fields, patch: Fields, schema: Schema) -> Fields:
    """A new object of both."""
    if DIRECTIVE in patch:
        return _replaced(patch)
    rest = dict(patch)
    result = _retained(original, rest)
    _merge_ordered(result, rest, schema)
    for key, value in rest.items():
        _merge_field(result, key, value, schema)
    return result


def _replaced(patch: Fields) -> Fields:
    """The object that a directive leaves."""
    match patch[DIRECTIVE]:
        case "replace":
            return {key: value for key, value in patch.items() if key != DIRECTIVE}
        case "delete":
            return {}
    raise _unknown(patch)


def _retained(original: Fields, patch: Fields) -> Fields:
    """A copy of the original without what `$retainKeys` does not list. Takes the directive out of the patch."""
    if RETAIN not in patch:
        return dict(original)
    keys = patch.pop(RETAIN)
    given = {key for key, value in patch.items() if value is not None and not key.startswith((DELETE_FROM, ORDER))}
    kept = {key for key in keys if isinstance(key, str)} if isinstance(keys, list) else set()
    if not isinstance(keys, list) or not given <= kept:
        raise malformed("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in kept}


def _merge_ordered(result: Fields, patch: Fields, schema: Schema) -> None:
    """Merge the lists for which the patch gives an order, in place. Takes them out of the patch."""
    for directive in [key for key in patch if key.startswith(ORDER)]:
        order = _list(patch.pop(directive))
        key = _field_of(directive, ORDER, "setElementOrder")
        live = _list(result.get(key, []))
        given = _list(patch.get(key, []))
        merging = _merging(schema, key)
        _check_order(given, order, merging.key)
        if key not in result and key not in patch:
            continue
        merged = _merged_lists(live, given, merging) if key in patch and key in result else live or _plain(given)
        patch.pop(key, None)
        _element_type(live, given)
        result[key] = in_order(merged, order, live, merging.key)


def _merge_field(result: Fields, key: str, value: JSON, schema: Schema) -> None:
    """One field of a patch, in place."""
    deleting = key.startswith(DELETE_FROM)
    if deleting:
        key = _field_of(key, DELETE_FROM, "primitive")
    current = result.get(key)
    if value is None:
        result.pop(key, None)
    elif isinstance(current, dict) and isinstance(value, dict):
        field = _field(schema, key)
        result[key] = value if "replace" in field.patch_strategies else _merged(current, value, field)
    elif isinstance(current, list) and isinstance(value, list):
        merge = _without if deleting else _merged_lists
        result[key] = merge(current, value, _merging(schema, key))
    elif not deleting:
        result.pop(key, None)
        if not _to_go(value):
            result[key] = _plain(value)


def _merged_lists(live: list[JSON], patch: list[JSON], merging: MergeRule) -> list[JSON]:
    """A new list of both."""
    if not merging.merge:
        return patch
    if not live and not patch:
        return live
    if _element_type(live, patch) is not dict:
        return in_order(_unique([*live, *patch]), patch, live, "")
    if not merging.key:
        raise contradiction("cannot merge lists without merge key for struct")
    live, patch = _directives_done(live, patch, merging.key)
    return in_order(_merged_elements(live, patch, merging), patch, live, merging.key)


def _directives_done(live: list[JSON], patch: list[JSON], merge_key: str) -> tuple[list[JSON], list[JSON]]:
    """The live list without what the patch deletes, and the patch without directives."""
    plain = [element for element in patch if DIRECTIVE not in element]
    deleted = set()
    for element in (element for element in patch if DIRECTIVE in element):
        match element[DIRECTIVE]:
            case "delete":
                deleted.add(identity(element, merge_key))
            case "replace":
                pass
            case "merge":
                raise contradiction("merging lists cannot yet be specified in the patch")
            case _:
                raise _unknown(element)
    if any(element.get(DIRECTIVE) == "replace" for element in patch):
        return plain, []
    return [one for one in live if merge_key not in one or identity(one, merge_key) not in deleted], plain


def _merged_elements(live: list[JSON], patch: list[JSON], merging: MergeRule) -> list[JSON]:
    """Each element merged into the first that has its key, or added."""
    merged = list(live)
    places: dict[Identity, int] = {}
    for element in patch:
        wanted = identity(element, merging.key)
        places = places or first_places(live, merging.key)
        place = places.setdefault(wanted, len(merged))
        if place == len(merged):
            merged.append(element)
        else:
            merged[place] = _merged(merged[place], element, merging.items)
    return merged


def _check_order(given: list[JSON], order: list[JSON], merge_key: str) -> None:
    """The patch's elements must all be in the order that it gives, one behind the other."""
    if not given or not order:
        return
    if wrong := [one for one in given if merge_key and not isinstance(one, dict)]:
        raise not_a(OBJECT, wrong[0])
    waiting = deque(one for one in given if not _directed(one) or one[DIRECTIVE] != "delete")
    for one in order:
        while waiting and _directed(waiting[0]):
            waiting.popleft()
        if waiting and identity(waiting[0], merge_key) == identity(one, merge_key):
            waiting.popleft()
    if waiting:
        shown = f"{printed(given)}\n doesn't match {ORDER} list:\n{printed(order)}\n"
        raise contradiction(f"The order in patch list:\n{shown}")


def _field(schema: Schema, key: str) -> Schema:
    """Where a patch and the object both have an object or a list, the schema must know the field."""
    if key in schema.properties:
        return schema.properties[key]
    if schema.additional is not None:
        raise contradiction("merging an object in json but data type is not struct, instead is: map")
    name = schema.name.rpartition(".")[2]
    raise contradiction(f'unable to find api field in struct {name} for the json field "{key}"')


def _merging(schema: Schema, key: str) -> MergeRule:
    field = _field(schema, key)
    return MergeRule(field.items or Schema({}), "merge" in field.patch_strategies, field.patch_merge_key)


def _field_of(directive: str, prefix: str, what: str) -> str:
    """`containers` of `$setElementOrder/containers`."""
    head, slash, field = directive.partition("/")
    if head != prefix or not slash:
        raise malformed(f"invalid patch format of {what} list")
    return field


def _list(value: JSON) -> list[JSON]:
    if not isinstance(value, list):
        raise not_a(LIST, value)
    return value


def _element_type(*lists: list[JSON]) -> type:
    """The one type of all elements."""
    types = {type(element) for one in lists for element in one}
    if len(types) > 1:
        raise contradiction(f"list element types are not identical: {printed(list(lists))}")
    if not types:
        raise contradiction("no elements in any of the given slices")
    if list in types:
        raise contradiction("lists of lists are not supported")
    return types.pop()


def _without(live: list[JSON], deleted: list[JSON], merging: MergeRule) -> list[JSON]:
    """A list of plain values without some. A list of objects merges as if it were not to be deleted from."""
    if (live or deleted) and _element_type(live, deleted) is dict:
        return _merged_lists(live, deleted, replace(merging, merge=True))
    excluded = set(deleted)
    return [one for one in live if one not in excluded]


def _unique(elements: list[JSON]) -> list[JSON]:
    return list({identity(one, ""): one for one in elements}.values())


def _plain(value: JSON) -> JSON:
    """A patch's value where the object has none: without nulls and without what carries a directive."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if one is not None and not _to_go(one)}
    if isinstance(value, list):
        return [_plain(one) for one in value if not _to_go(one)]
    return value


def _directed(value: JSON) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value


def _to_go(value: JSON) -> bool:
    """Whether a directive keeps a value out, where there is nothing to direct. A null directive does not count."""
    return isinstance(value, dict) and value.get(DIRECTIVE) is not None


def _unknown(patch: Fields) -> Exception:
    return contradiction(f"unknown patch type: {as_text(patch[DIRECTIVE])} in map: {printed(patch)}")
