"""Numbers of thousands of digits, and what only Python takes for digits, are refused or kept, and are no bug.

Level: sandbox."""

from typing import Any

import pytest

from tests.fakes.objects import definition
from tests.kubesandbox.conftest import Client

HUGE = ("9" * 5000, "9" * 5000 + "%", "9" * 30, "²", "²%", "٣", "٣%", "1e" + "9" * 5000, "-" + "9" * 5000)
TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def workload(**strategy: Any) -> Any:
    """The spec of a Deployment or a DaemonSet."""
    return {
        "metadata": {"generateName": "x"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, **strategy},
    }


def box_definition(pattern: str, column: str) -> Any:
    """A CustomResourceDefinition with a printer column."""
    text = {"type": "string", "pattern": pattern}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"text": text}}}}
    made = definition("example.com", "Box", "v1", schema=schema, names={"plural": "boxes", "kind": "Box"})
    made["spec"]["versions"][0]["additionalPrinterColumns"] = [{"name": "c", "type": "string", "jsonPath": column}]
    return made


def bodies(text: str) -> dict[str, Any]:
    """Bodies with the text where a number may be, by the path to which they are sent."""
    rolling = {"rollingUpdate": {"maxSurge": text, "maxUnavailable": text}}
    amounts = {"cpu": text, "memory": f"{text}Ki"}
    container = {"name": "c", "image": "i", "resources": {"requests": amounts}}
    job = {"spec": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}}
    apps, things = "/apis/apps/v1/namespaces/default", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    cron = {"schedule": f"{text} */{text} * * *", "jobTemplate": job}
    return {
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets": {
            "metadata": {"generateName": "x"},
            "spec": {"minAvailable": text},
        },
        f"{apps}/deployments": workload(strategy=rolling),
        f"{apps}/daemonsets": workload(updateStrategy=rolling),
        "/api/v1/namespaces/default/pods": {"metadata": {"generateName": "x"}, "spec": {"containers": [container]}},
        "/apis/batch/v1/namespaces/default/cronjobs": {"metadata": {"generateName": "x"}, "spec": cron},
        things: box_definition(f"a{{{text}}}|b{{1,{text}}}", ".spec.text"),
        f"{things}?dryRun=All": box_definition("a", f".spec.a[{text}]"),
        f"{things}?dryRun=All&pretty=0": box_definition("a", f".spec.a[0:{text}:{text}]"),
    }


@pytest.mark.parametrize("text", HUGE, ids=lambda text: f"{text[:3]}-{len(text)}")
async def test_in_a_body_they_are_no_bug(client: Client, text: str) -> None:
    for path, body in bodies(text).items():
        answer = await client.send("POST", path, body)
        assert answer.status < 500, (path, answer.body)


@pytest.mark.parametrize("text", HUGE, ids=lambda text: f"{text[:3]}-{len(text)}")
async def test_in_a_patch_or_a_selector_they_are_no_bug(client: Client, text: str) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    await client.create(path, {"metadata": {"name": "a", "finalizers": ["example.com/a"]}})
    patch = [{"op": "test", "path": f"/metadata/finalizers/{text}", "value": "a"}]
    answer = await client.send("PATCH", f"{path}/a", patch, Content_Type="application/json-patch+json")
    assert answer.status == 422, answer.body
    answer = await client.send("GET", f"{path}?labelSelector=a>{text}")
    assert answer.status in (200, 400), answer.body


async def test_a_table_with_a_huge_index_is_empty_there(client: Client) -> None:
    await client.create(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", box_definition("a", f".spec.a[{HUGE[0]}]")
    )
    boxes = "/apis/example.com/v1/namespaces/default/boxes"
    await client.create(boxes, {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "b"}})
    answer = await client.send("GET", boxes, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert answer.status == 200, answer.body
