#!/usr/bin/env python3
"""Keeps a certificate for the admission webhook: internal.certificate, .key and .trusted.

It is its own authority, good for a year, and made anew 30 days before its end, or for another namespace. The chart puts
it into a Secret, where it survives a restart. The API server goes on trusting the one before, so that Pods may take
their time to notice. Wants openssl.
"""

import base64
import re
import subprocess

from hookrunner.sdk import Hook, HookFailed

LIFE, SPARE = 365, 30
"""Days."""

hook = Hook()
hook.watch(
    "v1/Secret",
    "secrets",
    names=["ingress-nginx-admission"],
    jq_filter="{namespace: .metadata.namespace, data: .data}",
)


@hook.before_helm(order=1)
@hook.schedule("17 3 * * *", name="daily", include_snapshots_from=["secrets"])
def keep_certificate(snapshots, values):
    own = values.get("ingressNginx")
    if not own["admissionWebhook"]["enabled"]:
        return
    host = f"ingress-nginx-controller-admission.{own['namespace']}.svc"
    known = own.get("internal") or {}
    if not known.get("certificate"):
        known = stored(snapshots["secrets"].results, own["namespace"])
    if not good(known.get("certificate", ""), host):
        print(f"makes a certificate for {host}")
        known = made(host, known.get("certificate", ""))
    values.set("ingressNginx.internal", known)


def stored(secrets, namespace):
    """What the Secret has; empty if it is not there, or not whole."""
    for secret in secrets:
        if secret["namespace"] == namespace:
            data = {key: base64.b64decode(text).decode() for key, text in (secret["data"] or {}).items()}
            if {"cert", "key", "ca"} <= data.keys():
                return {"certificate": data["cert"], "key": data["key"], "trusted": data["ca"]}
    return {}


def good(certificate, host):
    """Is it for this host, and valid for some time yet?"""
    return "does match" in x509(certificate, "-checkhost", host) and lasts(certificate, SPARE)


def lasts(certificate, days):
    return "will not expire" in x509(certificate, "-checkend", str(days * 86400))


def x509(certificate, *question):
    """What openssl says about a certificate; empty if the text is not a certificate."""
    return openssl("x509", "-noout", *question, given=certificate).stdout


def made(host, before):
    asked = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "-", "-days", str(LIFE))
    done = openssl("req", "-x509", *asked, "-subj", "/CN=ingress-nginx", "-addext", f"subjectAltName=DNS:{host}")
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
        advice = "install it, or set ingressNginx.admissionWebhook.enabled to false"
        raise HookFailed(f"openssl is missing: {advice}") from None


hook.run()
