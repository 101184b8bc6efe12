#!/usr/bin/env python3
"""Fills the Secret kubernetes-dashboard-csrf with a random key, once.

The parts of the dashboard recognise each other's tokens against forged requests by it: 256 random bytes in base64. The
package has the Secret without data, so that no upgrade, repair or release record touches the key. Pods wait for it.
"""

import base64
import secrets

from hookrunner.sdk import Hook, ref

NAMESPACE, NAME, KEY = "kubernetes-dashboard", "kubernetes-dashboard-csrf", "private.key"

hook = Hook(
    permissions=[
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "verbs": ["patch"],
            "resourceNames": [NAME],
            "namespaces": [NAMESPACE],
        }
    ]
)
hook.watch(
    "v1/Secret",
    "secrets",
    group="keys",
    namespaces=[NAMESPACE],
    names=[NAME],
    jq_filter=f'(.data["{KEY}"] // "") != ""',
)


@hook.group("keys")
def fill(snapshots, cluster):
    if snapshots["secrets"].results == [False]:
        key = base64.b64encode(secrets.token_bytes(256))
        # The value of a Secret is base64 of the key, which is text itself.
        cluster.merge(ref("v1/Secret", NAME, NAMESPACE), {"data": {KEY: base64.b64encode(key).decode()}})


hook.run()
