#!/usr/bin/env python3
"""Keeps a certificate for the admission webhook: internal.certificate, .key and .trusted.

It is its own authority, good for a year, and made anew 30 days before its end, or for another namespace. The chart puts
it into a Secret, where it survives a restart. The API server goes on trusting the one before, so that Pods may take
their time to notice. Wants openssl.
"""

import base64
import json
import os
import re
import subprocess
import sys

CONFIG = """
configVersion: v1
beforeHelm: 1
kubernetes:
- name: secrets
  kind: Secret
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  nameSelector: {matchNames: [ingress-nginx-admission]}
  keepFullObjectsInMemory: false
  jqFilter: "{namespace: .metadata.namespace, data: .data}"
schedule:
- name: daily
  crontab: "17 3 * * *"
  includeSnapshotsFrom: [secrets]
"""
LIFE, SPARE = 365, 30
"""Days."""


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        snapshots = json.load(file)[-1]["snapshots"]
    with open(os.environ["VALUES_PATH"]) as file:
        values = json.load(file)["ingressNginx"]
    if not values["admissionWebhook"]["enabled"]:
        return
    host = f"ingress-nginx-controller-admission.{values['namespace']}.svc"
    known = values.get("internal") or {}
    if not known.get("certificate"):
        known = stored(snapshots["secrets"], values["namespace"])
    if not good(known.get("certificate", ""), host):
        print(f"makes a certificate for {host}")
        known = made(host, known.get("certificate", ""))
    with open(os.environ["VALUES_JSON_PATCH_PATH"], "w") as patch:
        json.dump({"op": "add", "path": "/ingressNginx/internal", "value": known}, patch)


def stored(secrets: list[dict], namespace: str) -> dict[str, str]:
    """What the Secret has; empty if it is not there, or not whole."""
    for secret in (entry["filterResult"] for entry in secrets):
        if secret["namespace"] == namespace:
            data = {key: base64.b64decode(text).decode() for key, text in (secret["data"] or {}).items()}
            if {"cert", "key", "ca"} <= data.keys():
                return {"certificate": data["cert"], "key": data["key"], "trusted": data["ca"]}
    return {}


def good(certificate: str, host: str) -> bool:
    """Is it for this host, and valid for some time yet?"""
    return "does match" in x509(certificate, "-checkhost", host) and lasts(certificate, SPARE)


def lasts(certificate: str, days: int) -> bool:
    return "will not expire" in x509(certificate, "-checkend", str(days * 86400))


def x509(certificate: str, *question: str) -> str:
    """What openssl says about a certificate; empty if the text is not a certificate."""
    return openssl("x509", "-noout", *question, given=certificate).stdout


def made(host: str, before: str) -> dict[str, str]:
    asked = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "-", "-days", str(LIFE))
    done = openssl("req", "-x509", *asked, "-subj", "/CN=ingress-nginx", "-addext", f"subjectAltName=DNS:{host}")
    blocks = re.findall(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n", done.stdout, re.DOTALL)
    if blocks != ["PRIVATE KEY", "CERTIFICATE"]:
        sys.exit(f"openssl makes no certificate: {done.stderr.strip()}")
    at = done.stdout.index("-----BEGIN CERTIFICATE-----")
    key, certificate = done.stdout[:at], done.stdout[at:]
    return {"certificate": certificate, "key": key, "trusted": certificate + (before if lasts(before, 0) else "")}


def openssl(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["openssl", *arguments], input=given, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        sys.exit("openssl is missing: install it, or set ingressNginx.admissionWebhook.enabled to false")


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
