from pathlib import Path

from hookrunner.sdk.testing import load, run

HOOK = load(Path(__file__).with_name("label.py"))
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}}


def test_a_namespace_with_a_team_is_labelled() -> None:
    answer = run(HOOK, "label", object=SHOP)
    assert answer["operations"][0]["mergePatch"] == {"metadata": {"labels": {"seen": "yes"}}}


def test_for_a_deleted_one_there_is_nothing_to_do() -> None:
    assert run(HOOK, "label", event="Deleted", object=SHOP) == {}
