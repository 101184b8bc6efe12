#!/usr/bin/env python3
from hookrunner.sdk import Hook, Review

DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "operations": ["CREATE"]}

hook = Hook()


@hook.mutate("defaults.example.com", rules=[DEPLOYMENTS], namespace_selector="defaults=yes")
def fill_in(review: Review) -> None:
    review.object["spec"].setdefault("replicas", 2)


hook.run()
