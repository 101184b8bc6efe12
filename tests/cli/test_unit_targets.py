"""Where a running hookrunner is asked about a unit. Level: pure."""

from hookrunner.cli.unit_targets import UnitTarget
from tests.tables import each


@each(
    ("target", "path"),
    [
        (UnitTarget("global"), "/global/values.yaml?explain=true"),
        (UnitTarget("dns"), "/module/dns/values.yaml?explain=true"),
        (UnitTarget("a/b"), "/module/a%2Fb/values.yaml?explain=true"),
        (UnitTarget("default", "dns"), "/addon/dns/default/values.yaml?explain=true"),
        (UnitTarget("global", "dns", "ns"), "/addon/dns/global/values.yaml?namespace=ns&explain=true"),
    ],
)
def test_each_kind_of_unit_is_asked_about_below_its_own_path(target: UnitTarget, path: str) -> None:
    assert target.path("values.yaml", whole=False, explain=True) == path


def test_targets_are_called_as_users_type_them() -> None:
    assert (str(UnitTarget("dns")), str(UnitTarget("default", "coredns"))) == ("dns", "coredns/default")
