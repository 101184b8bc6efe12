#!/usr/bin/env python3
"""Converts CronTabs (crontab-versions.yaml) between the three versions in which they have been served:

    v1alpha1   hostPort: "db:5432"
    v1beta1    host: db, port: "5432"
    v1         address: {host: db, port: 5432}

Only neighbours are converted into each other: from v1alpha1 to v1, hookrunner runs this twice. Nothing may get lost on
the way there and back, since the API server stores one version and is asked for all of them.
"""

import json
import os
import sys

CONFIG = """
configVersion: v1
kubernetesCustomResourceConversion:
- name: crontabs
  crdName: crontabs.stable.hookrunner.io
  conversions:
  - {fromVersion: v1alpha1, toVersion: v1beta1}
  - {fromVersion: v1beta1, toVersion: v1alpha1}
  - {fromVersion: v1beta1, toVersion: v1}
  - {fromVersion: v1, toVersion: v1beta1}
"""


def split(spec: dict) -> None:
    if "hostPort" in spec:
        host, colon, port = spec.pop("hostPort").rpartition(":")
        if not colon:
            raise ValueError("spec.hostPort must be HOST:PORT")
        spec.update(host=host, port=port)


def joined(spec: dict) -> None:
    if "host" in spec or "port" in spec:
        spec["hostPort"] = f"{spec.pop('host', '')}:{spec.pop('port', '')}"


def nested(spec: dict) -> None:
    address = {key: spec.pop(key) for key in ("host", "port") if key in spec}
    if address.get("port", "").isdecimal():
        address["port"] = int(address["port"])
    elif "port" in address:
        raise ValueError(f"spec.port must be a number, not {address['port']!r}")
    if address:
        spec["address"] = address


def flat(spec: dict) -> None:
    spec.update((key, str(value)) for key, value in spec.pop("address", {}).items())


STEPS = {
    ("v1alpha1", "v1beta1"): split,
    ("v1beta1", "v1alpha1"): joined,
    ("v1beta1", "v1"): nested,
    ("v1", "v1beta1"): flat,
}


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        context = json.load(file)[0]
    with open(os.environ["CONVERSION_RESPONSE_PATH"], "w") as file:
        json.dump(answer(context), file)


def answer(context: dict) -> dict:
    """All objects in the wanted version, or the reason for which one of them cannot be had in it."""
    change = STEPS[context["fromVersion"], context["toVersion"]]
    objects = context["review"]["request"]["objects"]
    for obj in objects:
        try:
            change(obj.get("spec", {}))
        except ValueError as error:
            return {"failedMessage": f"CronTab {obj['metadata'].get('name')}: {error}"}
        obj["apiVersion"] = f"stable.hookrunner.io/{context['toVersion']}"
    return {"convertedObjects": objects}


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
