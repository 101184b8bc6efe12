"""The promise to hook authors: the JSON that a hook reads, for every kind of context (docs/hooks.md). Level: pure."""

import json

from hookrunner.model.bindings import Change
from hookrunner.model.contexts import (
    Context,
    ContextType,
    Entry,
    Include,
    admission_review,
    conversion_review,
    render,
    render_v0,
)
from hookrunner.model.resources import ObjectKey
from tests.tables import each

KEY = ObjectKey("default", "Pod", "a")
OBJECT, FILTERED = b'{"kind":"Pod","metadata":{"name":"a"}}', b'{"ready":true}'
SNAPSHOTS = {
    0: [Entry(KEY, OBJECT, None), Entry(KEY, OBJECT, None)],
    1: [Entry(KEY, OBJECT, FILTERED)],
    2: [Entry(KEY, None, b'"text"')],
    3: [],
    4: [Entry(KEY, None, None)],
}
POD = '{"object": {"kind": "Pod", "metadata": {"name": "a"}}}'
BOTH = '{"object": {"kind": "Pod", "metadata": {"name": "a"}}, "filterResult": {"ready": true}}'
PODS, NONE = Include("pods", 0), Include("none", 3)


@each(
    ("context", "text"),
    [
        (Context("onStartup", ContextType.STARTUP), '{"binding": "onStartup"}'),
        (Context("afterAll", ContextType.LIFECYCLE), '{"binding": "afterAll", "snapshots": {}}'),
        (
            Context("beforeHelm", ContextType.LIFECYCLE, includes=(NONE, Include("a", 2))),
            '{"binding": "beforeHelm", "snapshots": {"none": [], "a": [{"filterResult": "text"}]}}',
        ),
        (Context("tick", ContextType.SCHEDULE), '{"binding": "tick", "type": "Schedule"}'),
        (
            Context("tick", ContextType.SCHEDULE, includes=(PODS, NONE)),
            f'{{"binding": "tick", "type": "Schedule", "snapshots": {{"pods": [{POD}, {POD}], "none": []}}}}',
        ),
        (
            Context("pods", ContextType.SYNCHRONIZATION, source=0),
            f'{{"binding": "pods", "type": "Synchronization", "objects": [{POD}, {POD}]}}',
        ),
        (
            Context("pods", ContextType.SYNCHRONIZATION, source=1),
            f'{{"binding": "pods", "type": "Synchronization", "objects": [{BOTH}]}}',
        ),
        (
            Context("pods", ContextType.SYNCHRONIZATION, source=0, key=KEY, obj=OBJECT, filtered=FILTERED),
            f'{{"binding": "pods", "type": "Synchronization", "objects": [{BOTH}]}}',
        ),
        (
            Context("pods", ContextType.SYNCHRONIZATION, source=0, key=KEY),
            '{"binding": "pods", "type": "Synchronization", "objects": [{}]}',
        ),
        (
            Context("pods", ContextType.SYNCHRONIZATION, source=2),
            '{"binding": "pods", "type": "Synchronization", "objects": [{"filterResult": "text"}]}',
        ),
        (
            Context("none", ContextType.SYNCHRONIZATION, source=3),
            '{"binding": "none", "type": "Synchronization", "objects": []}',
        ),
        (
            Context("bare", ContextType.SYNCHRONIZATION, source=4),
            '{"binding": "bare", "type": "Synchronization", "objects": [{}]}',
        ),
        (
            Context("none", ContextType.SYNCHRONIZATION, source=3, includes=(NONE, PODS)),
            '{"binding": "none", "type": "Synchronization", "objects": [],'
            f' "snapshots": {{"none": [], "pods": [{POD}, {POD}]}}}}',
        ),
        (
            Context("pods", ContextType.EVENT, change=Change.ADDED, key=KEY, obj=OBJECT),
            '{"binding": "pods", "type": "Event", "watchEvent": "Added",'
            ' "object": {"kind": "Pod", "metadata": {"name": "a"}}}',
        ),
        (
            Context("pods", ContextType.EVENT, change=Change.MODIFIED, key=KEY, obj=OBJECT, filtered=FILTERED),
            '{"binding": "pods", "type": "Event", "watchEvent": "Modified",'
            ' "object": {"kind": "Pod", "metadata": {"name": "a"}}, "filterResult": {"ready": true}}',
        ),
        (
            Context("pods", ContextType.EVENT, change=Change.DELETED, key=KEY, filtered=b"null"),
            '{"binding": "pods", "type": "Event", "watchEvent": "Deleted", "filterResult": null}',
        ),
        (
            Context("pods", ContextType.EVENT, change=Change.DELETED, key=KEY),
            '{"binding": "pods", "type": "Event", "watchEvent": "Deleted"}',
        ),
        (
            Context("pods", ContextType.GROUP, group="g", source=0, includes=(NONE,)),
            '{"binding": "pods", "type": "Group", "groupName": "g", "snapshots": {"none": []}}',
        ),
        (
            Context("tick", ContextType.GROUP, group="schedules-only"),
            '{"binding": "tick", "type": "Group", "groupName": "schedules-only"}',
        ),
        (
            Context("a.b.c", ContextType.VALIDATING, extra=admission_review("a/v1", {"uid": "1"}), includes=(NONE,)),
            '{"binding": "a.b.c", "type": "Validating",'
            ' "review": {"apiVersion": "a/v1", "kind": "AdmissionReview",'
            ' "request": {"uid": "1", "object": null, "oldObject": null, "options": null}},'
            ' "snapshots": {"none": []}}',
        ),
        (
            Context("up", ContextType.CONVERSION, extra=conversion_review("x/v1", b"{}", ("v1", "v2"))),
            '{"binding": "up", "type": "Conversion", "fromVersion": "v1", "toVersion": "v2",'
            ' "review": {"apiVersion": "x/v1", "kind": "ConversionReview", "request": {"objects": []}}}',
        ),
    ],
)
def test_context_is_rendered_as_documented(context: Context, text: str) -> None:
    """Keys come in this order too, for people who read them."""
    rendered = b"".join(render([context], SNAPSHOTS))
    assert rendered.endswith(b"]\n")
    assert json.dumps(json.loads(rendered)) == json.dumps([json.loads(text)])


def test_contexts_of_a_run_are_one_array_in_order() -> None:
    contexts = [Context(name, ContextType.SCHEDULE) for name in "abc"]
    assert [element["binding"] for element in json.loads(b"".join(render(contexts, {})))] == ["a", "b", "c"]


@each(
    ("context", "text"),
    [
        (Context("onStartup", ContextType.STARTUP), '{"binding": "onStartup"}'),
        (Context("tick", ContextType.SCHEDULE), '{"binding": "tick"}'),
        *(
            (
                Context("pods", ContextType.EVENT, change=change, key=KEY),
                f'{{"binding": "pods", "resourceEvent": "{word}", "resourceNamespace": "default",'
                ' "resourceKind": "Pod", "resourceName": "a"}',
            )
            for change, word in [(Change.ADDED, "add"), (Change.MODIFIED, "update"), (Change.DELETED, "delete")]
        ),
    ],
)
def test_v0_context_is_rendered_as_documented(context: Context, text: str) -> None:
    assert json.loads(b"".join(render_v0([context]))) == [json.loads(text)]
