"""Patches: documents in, documents out. `patched` is for callers outside of the sandbox."""

from typing import Any

from kubesandbox.errors import PatchRefused
from kubesandbox.patches import json_patch
from kubesandbox.status import Refused


def patched(document: Any, operation: dict[str, Any]) -> Any:
    """A new document, after one operation of a JSON patch as the API server carries it out. Raises `PatchRefused`."""
    try:
        return json_patch.apply(document, [operation])
    except Refused as refused:
        raise PatchRefused(refused.message) from None
