"""JSON merge patch: fields replace fields, null removes one, objects merge, lists are replaced as a whole.

RFC 7386, and as the API server does beyond it: nulls inside objects of a list are dropped too, unless the list takes
the place of an object.
"""

import orjson

from kubetypes.json_values import JSON
from kubetypes.patches.printed import OBJECT, wrong_type
from kubetypes.patches.refusals import malformed


def apply(document: JSON, patch: JSON) -> JSON:
    """The patched document; it shares nothing with the input.

    Raises `PatchRefused`, 400, if the patch is no object.
    """
    if patch is None:
        raise malformed("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise malformed(f"error decoding patch: {wrong_type(patch, f'Go value of type {OBJECT}')}")
    return orjson.loads(orjson.dumps(_merged(document, patch)))


def _merged(current: JSON, patch: JSON) -> JSON:
    if not isinstance(current, dict):
        return _without_nulls(patch)
    if not isinstance(patch, dict):
        return patch
    changed = {key: _merged(current.get(key), value) for key, value in patch.items() if value is not None}
    kept = {key: value for key, value in current.items() if key not in patch}
    return kept | changed


def _without_nulls(value: JSON) -> JSON:
    """Without the fields that are null, at any depth. Nulls that are elements of lists stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    return value
