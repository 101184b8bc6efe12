"""Who owns what after a write: managed fields of creates, updates and patches, and server-side apply.

The caller sends `new` with its defaults filled in, but before anything that the server itself decides at a create or an
update (allocated addresses, what admission adds, `status` put back, generation): no manager owns that. After an apply
it fills in defaults and calls `settled` again.

https://kubernetes.io/docs/reference/using-api/server-side-apply/ has the rules; where it is silent, a real API server
was asked, and the tests ask it again.
"""

from kubesandbox.fields import scale, tracking
from kubesandbox.fields.tracking import Write, settled
from kubesandbox.kinds import Kind
from kubetypes.json_values import JSON

__all__ = ["Write", "applied", "settled", "updated"]


def updated(live: JSON | None, new: JSON, kind: Kind, write: Write) -> JSON:
    """`new` as a create, an update or a patch leaves it: with `metadata.managedFields`.

    `live` is None at a create. `new` may carry managed fields that a client sent: they count if they can be read, an
    empty list clears them all, and an object without managed fields is not tracked until a client applies to it. A
    write to `scale` comes as the object with its new replica count.
    """
    if write.subresource == "scale" and live is not None:
        return scale.updated(live, new, kind, write)
    return tracking.updated(live, new, kind, write)


def applied(live: JSON | None, config: JSON, kind: Kind, write: Write, force: bool) -> JSON:
    """The live object with a configuration applied, and its managed fields; for `scale` the configuration is a Scale.

    Raises `Refused`: 409 with the fields that others own, 400 and 500 for a configuration that cannot be applied.
    """
    if write.subresource == "scale" and live is not None:
        return scale.applied(live, config, kind, write, force)
    return tracking.applied(live, config, kind, write, force)
