#!/usr/bin/env python3
from hookrunner.sdk import Deny, Hook, Review

NAMESPACES = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"], "operations": ["CREATE"]}

hook = Hook()


@hook.validate("teams.example.com", rules=[NAMESPACES], failure_policy="Ignore")
def judge(review: Review) -> None:
    if not review.object["metadata"].get("labels", {}).get("team"):
        raise Deny("a Namespace needs a label `team`", code=422)


hook.run()
