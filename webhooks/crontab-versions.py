#!/usr/bin/env python3
"""Converts CronTabs (crontab-versions.yaml) between the three versions in which they have been served:

    v1alpha1   hostPort: "db:5432"
    v1beta1    host: db, port: "5432"
    v1         address: {host: db, port: 5432}

Only neighbours are converted into each other: from v1alpha1 to v1, hookrunner runs this twice. Nothing may get lost on
the way there and back, since the API server stores one version and is asked for all of them.
"""

from hookrunner.sdk import Hook, HookFailed

CRD = "crontabs.stable.hookrunner.io"

hook = Hook()


@hook.convert(CRD, "v1alpha1", "v1beta1")
def split(crontab):
    spec = crontab.get("spec", {})
    if "hostPort" in spec:
        host, colon, port = spec.pop("hostPort").rpartition(":")
        if not colon:
            raise HookFailed("spec.hostPort must be HOST:PORT")
        spec.update(host=host, port=port)


@hook.convert(CRD, "v1beta1", "v1alpha1")
def join(crontab):
    spec = crontab.get("spec", {})
    if "host" in spec or "port" in spec:
        spec["hostPort"] = f"{spec.pop('host', '')}:{spec.pop('port', '')}"


@hook.convert(CRD, "v1beta1", "v1")
def nest(crontab):
    spec = crontab.get("spec", {})
    address = {key: spec.pop(key) for key in ("host", "port") if key in spec}
    if address.get("port", "").isdecimal():
        address["port"] = int(address["port"])
    elif "port" in address:
        raise HookFailed(f"spec.port must be a number, not {address['port']!r}")
    if address:
        spec["address"] = address


@hook.convert(CRD, "v1", "v1beta1")
def flatten(crontab):
    spec = crontab.get("spec", {})
    spec.update((key, str(value)) for key, value in spec.pop("address", {}).items())


hook.run()
