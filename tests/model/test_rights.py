"""Rules as in RBAC: what they cover, and how they are merged. Level: pure."""

from hookrunner.model.rights import AccessRequest, Reason, Right, compact, merge
from tests.tables import each

LABELS, COPIES = Reason("hook labels.sh", "binding 'pods'"), Reason("hook copy.sh", "test case 'copies'")


@each(
    ("right", "asked", "covers"),
    [
        (Right(("apps",), ("deployments",), ("get",)), AccessRequest("get", "apps", "deployments", "web", "a"), True),
        (
            Right(("apps",), ("deployments",), ("get",)),
            AccessRequest("patch", "apps", "deployments", "web", "a"),
            False,
        ),
        (Right(("apps",), ("deployments",), ("*",)), AccessRequest("patch", "apps", "deployments", "web", "a"), True),
        (Right(("",), ("deployments",), ("get",)), AccessRequest("get", "apps", "deployments", "web", "a"), False),
        (Right(("*",), ("*",), ("get",)), AccessRequest("get", "apps", "deployments/scale", "web", "a"), True),
        (Right(("apps",), ("*/scale",), ("get",)), AccessRequest("get", "apps", "deployments/scale", "web", "a"), True),
        (Right(("apps",), ("*/scale",), ("get",)), AccessRequest("get", "apps", "deployments", "web", "a"), False),
        (Right(("",), ("pods",), ("get",)), AccessRequest("get", "", "pods/log", "web", "a"), False),
        (Right(("",), ("pods",), ("get",), ("a",)), AccessRequest("get", "", "pods", "web", "a"), True),
        (Right(("",), ("pods",), ("list",), ("a",)), AccessRequest("list", "", "pods", "web"), False),
        (Right(("",), ("pods",), ("get",), namespace="web"), AccessRequest("get", "", "pods", "web", "a"), True),
        (Right(("",), ("pods",), ("list",), namespace="web"), AccessRequest("list", "", "pods"), False),
        (Right((), (), ("get",), urls=("/logs/*",)), AccessRequest("get", url="/logs/a"), True),
        (Right((), (), ("get",), urls=("/logs",)), AccessRequest("get", url="/logs/a"), False),
        (Right(("*",), ("*",), ("*",)), AccessRequest("get", url="/logs"), False),
    ],
)
def test_a_right_covers_what_rbac_allows(right: Right, asked: AccessRequest, covers: bool) -> None:
    assert right.covers(asked) is covers


def test_verbs_of_one_resource_become_one_right_with_all_needs() -> None:
    merged = merge(
        [
            Right(("",), ("pods",), ("watch", "list"), needs=(LABELS,)),
            Right(("",), ("pods", "nodes"), ("patch",), needs=(COPIES,)),
        ]
    )
    assert merged == (
        Right(("",), ("pods",), ("list", "watch", "patch"), needs=(LABELS, COPIES)),
        Right(("",), ("nodes",), ("patch",), needs=(COPIES,)),
    )


def test_names_with_the_same_verbs_become_one_right() -> None:
    merged = merge(Right(("",), ("secrets",), verbs, names) for verbs, names in SECRETS)
    assert merged == (
        Right(("",), ("secrets",), ("get", "update"), ("a", "b")),
        Right(("",), ("secrets",), ("create",)),
    )


SECRETS = [(("get",), ("a",)), (("get", "update"), ("b",)), (("create",), ()), (("update",), ("a",))]


@each(
    ("narrow", "wide"),
    [
        (Right(("",), ("pods",), ("get",), namespace="web"), Right(("",), ("pods",), ("get",))),
        (Right(("",), ("pods",), ("get",), ("a",)), Right(("",), ("pods",), ("get",))),
        (Right(("",), ("pods",), ("get",)), Right(("",), ("pods",), ("*",))),
        (Right(("",), ("pods/log",), ("get",)), Right(("",), ("*/log",), ("get",))),
        (Right(("",), ("pods",), ("get",), ("a",), "web"), Right(("*",), ("*",), ("*",))),
    ],
)
def test_a_right_within_another_is_left_out_and_its_need_kept(narrow: Right, wide: Right) -> None:
    narrow, wide = (Right(*parts(right), needs=(need,)) for right, need in ((narrow, LABELS), (wide, COPIES)))
    assert [Right(*parts(right)) for right in merge([narrow, wide])] == [Right(*parts(wide))]
    assert set(merge([narrow, wide])[0].needs) == {LABELS, COPIES}


def parts(right: Right) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...], str]:
    return right.groups, right.resources, right.verbs, right.names, right.namespace


def test_compact_joins_resources_and_then_groups() -> None:
    verbs = ("get", "list")
    rights = [
        Right(("",), ("pods",), verbs),
        Right(("",), ("nodes",), verbs),
        Right(("metrics.k8s.io",), ("nodes",), verbs),
        Right(("metrics.k8s.io",), ("pods",), verbs),
        Right(("",), ("secrets",), ("get",)),
    ]
    assert compact(rights) == (
        Right(("", "metrics.k8s.io"), ("pods", "nodes"), verbs),
        Right(("",), ("secrets",), ("get",)),
    )


def test_merged_and_compact_rights_cover_the_same_requests() -> None:
    rights = [Right(("", "apps"), ("a", "b"), verbs, names, where) for verbs, names in SECRETS for where in ("", "x")]
    few = compact(merge(rights))
    requests = [
        AccessRequest(verb, group, resource, where, name)
        for verb in ("get", "update", "create", "delete")
        for group in ("", "apps", "batch")
        for resource in ("a", "b", "c")
        for where in ("", "x", "y")
        for name in ("", "a", "b", "c")
    ]
    differing = [
        request
        for request in requests
        if any(right.covers(request) for right in rights) != any(right.covers(request) for right in few)
    ]
    assert differing == []
