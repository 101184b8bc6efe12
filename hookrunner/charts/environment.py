"""The environment of a render worker: what the interpreter and Helm need, and the way to the cluster for lookups.

A worker runs templates, which are written by others. Helm gives them no `env`, so that this is a second wall: what is
not in the worker cannot leave it, whatever goes wrong in Helm's library. Therefore the lists below say what comes in;
everything else stays out, above all `HOOKRUNNER_*` and the variables that are meant for hooks.
"""

import re
from collections.abc import Mapping

_ALWAYS = re.compile(
    r"PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|PYTHON\w+|GO(DEBUG|GC|MAXPROCS|MEMLIMIT|TRACEBACK)"
)
"""Where programs and libraries are, and how Python and Go behave."""

_CLUSTER = re.compile(
    r"KUBECONFIG|KUBERNETES_(MASTER|SERVICE_(HOST|PORT))|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy"
)
"""How client-go finds a cluster and reaches it."""

_LOGIN = re.compile(
    r"(AWS|AZURE|AAD|ARM|CLOUDSDK|DIGITALOCEAN|GOOGLE|OCI|OS|TSH|TELEPORT|VAULT|XDG)_\w+|USE_GKE_\w+|USER"
)
"""What programs that a kubeconfig names (`exec:`) log in with; others take theirs from the kubeconfig's `env`."""


def worker_environment(environ: Mapping[str, str], lookup: bool) -> dict[str, str]:
    """The part of `environ` that a worker gets; with `lookup` the part that leads to the cluster, too.

    A pod that has no kubeconfig logs in with the token of its service account, and needs no other credentials.
    """
    kubeconfig = environ.get("KUBECONFIG") or not environ.get("KUBERNETES_SERVICE_HOST")
    lists = [_ALWAYS, *([_CLUSTER] if lookup else []), *([_LOGIN] if lookup and kubeconfig else [])]
    return {name: text for name, text in environ.items() if any(names.fullmatch(name) for names in lists)}
