"""Managed fields: server-side apply, and what every other write leaves in `metadata.managedFields`.

    writes.py       `updated`, `applied`, `settled`: what the sandbox calls
    tracking.py     the flow of one write to an object
    scale.py        the same for its replica count, written through `scale`
    entries.py      the entries of managedFields: reading, writing, order, the cap
    differences.py  what a write changed, in each version of the kind, without what it cannot own
    compare.py      two states of an object → paths added, modified, removed
    merge.py        a configuration laid over the live object; what it owns; an object without some paths
    ownership.py    what an applier no longer states, the 409, sets that were written for another schema
    checks.py       what cannot be applied at all
    last_applied.py kubectl's change from client-side to server-side apply
    elements.py     path elements
    shapes.py       how a schema's values are owned

Everything here is pure: JSON in, JSON out, inputs are never changed and may be shared with the result.
"""

from kubesandbox.fields.writes import Write, applied, settled, updated

__all__ = ["Write", "applied", "settled", "updated"]
