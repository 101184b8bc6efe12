"""Managed fields: server-side apply, and what every other write leaves in `metadata.managedFields`.

    writes.py       `updated`, `applied`, `settled`: what the sandbox calls
    tracking.py     the flow of one write to an object
    scale.py        the same for its replica count, written through `scale`
    entries.py      the entries of managedFields: reading, writing, order, the cap
    differences.py  what a write changed, in each version of the kind
    compare.py      two states of an object → paths added, modified, removed
    merge.py        a configuration laid over the live object; what it owns; an object without some paths
    prune.py        what an applier no longer states
    conflicts.py    the 409
    checks.py       what cannot be applied at all
    resets.py       what a write to the object or to `status` cannot own
    reconcile.py    sets that were written for another schema
    last_applied.py kubectl's change to server-side apply
    elements.py     path elements
    shapes.py       how a schema's values are owned

Everything here is pure: JSON in, JSON out, inputs are never changed and may be shared with the result.
"""

from kubesandbox.fields.writes import Write, applied, settled, updated

__all__ = ["Write", "applied", "settled", "updated"]
