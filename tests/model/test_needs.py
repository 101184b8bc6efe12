"""The order of what needs the user. Level: pure."""

from hookrunner.model.needs import KINDS, Urgency, UserNeed, by_urgency


def need(urgency: Urgency, kind: str, name: str = "", failures: int = 0) -> UserNeed:
    return UserNeed(urgency, kind, name, "broken", "", failures)


def test_the_most_urgent_comes_first_then_kinds_in_their_order_then_what_failed_most_often() -> None:
    ordered = [
        need(Urgency.CRITICAL, "webhooks"),
        need(Urgency.FAILING, "hooks", "often.sh", 12),
        need(Urgency.FAILING, "hooks", "a.sh", 2),
        need(Urgency.FAILING, "hooks", "b.sh", 2),
        need(Urgency.FAILING, "modules", "dns", 99),
        need(Urgency.WAITING, "deletions", "worker-1"),
        need(Urgency.ADVICE, "replicas"),
    ]
    assert by_urgency(ordered[::-1]) == ordered


def test_a_need_reads_as_readyz_has_it() -> None:
    assert [str(need(Urgency.FAILING, KINDS[0], name)) for name in ("dns", "")] == ["dns: broken", "broken"]
