#!/usr/bin/env python3
"""Keeps a certificate for the admission webhook: internal.admission.certificate, .key and .trusted.

It is its own authority, valid for a year, and replaced 30 days before its end. The package puts it into a Secret, where
it survives a restart. The API server also trusts the previous one, since Pods notice a change later.
Needs openssl.
"""

import base64
import re
import subprocess

from hookrunner.sdk import Hook, HookFailed

LIFE, SPARE = 365, 30
"""Days."""
HOST = "ingress-nginx-controller-admission.ingress-nginx.svc"

hook = Hook()
hook.watch(
    "v1/Secret",
    "secrets",
    namespaces=["ingress-nginx"],
    names=["ingress-nginx-admission"],
    jq_filter=".data",
)


@hook.before_helm(order=10)
@hook.schedule("17 3 * * *", name="daily", include_snapshots_from=["secrets"])
def keep_certificate(snapshots, values):
    known = values.get("ingressNginx.internal", {}).get("admission") or {}
    if not known.get("certificate"):
        known = stored(snapshots["secrets"].results)
    if not is_good(known.get("certificate", "")):
        print(f"makes a certificate for {HOST}")
        known = make_certificate(known.get("certificate", ""))
    values.set("ingressNginx.internal.admission", known)


def stored(secrets):
    """What the Secret has; empty if it does not exist, or is not whole."""
    for secret in secrets:
        data = {key: base64.b64decode(text).decode(errors="replace") for key, text in (secret or {}).items()}
        if {"cert", "key", "ca"} <= data.keys():
            return {"certificate": data["cert"], "key": data["key"], "trusted": data["ca"]}
    return {}


def is_good(certificate):
    """Is it for the webhook's host, and valid for some time yet?"""
    return "does match" in x509(certificate, "-checkhost", HOST) and lasts(certificate, SPARE)


def lasts(certificate, days):
    return "will not expire" in x509(certificate, "-checkend", str(days * 86400))


def x509(certificate, *question):
    """What openssl says about a certificate; empty if the text is not a certificate."""
    return openssl("x509", "-noout", *question, given=certificate).stdout


def make_certificate(before):
    asked = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "-", "-days", str(LIFE))
    done = openssl("req", "-x509", *asked, "-subj", "/CN=ingress-nginx", "-addext", f"subjectAltName=DNS:{HOST}")
    blocks = re.findall(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n", done.stdout, re.DOTALL)
    if blocks != ["PRIVATE KEY", "CERTIFICATE"]:
        raise HookFailed(f"openssl makes no certificate: {done.stderr.strip()}")
    at = done.stdout.index("-----BEGIN CERTIFICATE-----")
    key, certificate = done.stdout[:at], done.stdout[at:]
    return {"certificate": certificate, "key": key, "trusted": certificate + (before if lasts(before, 0) else "")}


def openssl(*arguments, given=""):
    try:
        return subprocess.run(["openssl", *arguments], input=given, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        raise HookFailed("openssl is missing, which makes the certificate of the webhook: install it") from None


hook.run()
