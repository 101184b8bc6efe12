"""A real API server to compare with, and Widgets on it."""

import secrets
from collections.abc import Callable, Iterator

import pytest

from kubesandbox.kinds import Kinds, builtin
from kubetypes.json_values import JSON
from tests.controlplane.cluster import Cluster
from tests.kubesandbox.fields.replay import Replay
from tests.kubesandbox.fields.widgets import definition, widget, widget_kind
from tests.kubesandbox.oracle import Oracle, oracle_of

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="package")
def oracle(cluster: Cluster) -> Iterator[Oracle]:
    """One connection and one namespace for all comparisons."""
    with oracle_of(cluster) as oracle:
        yield oracle


@pytest.fixture(scope="package")
def group(cluster: Cluster, oracle: Oracle) -> Iterator[str]:
    """The group of Widgets, served in both versions."""
    group = f"g{secrets.token_hex(4)}.fields.test"
    oracle.made(DEFINITIONS, definition(group))
    versions = [f"/apis/{group}/{version}/namespaces/{oracle.namespace}/widgets" for version in ("v1", "v2")]
    while not all(cluster.request("GET", path).status == 200 for path in versions):
        pass
    yield group
    oracle.ask("DELETE", f"{DEFINITIONS}/widgets.{group}")


@pytest.fixture
def replay(oracle: Oracle, group: str) -> Replay:
    """A Widget that is not there yet."""
    return Replay(oracle, widget_kind(group), f"w{secrets.token_hex(4)}")


@pytest.fixture
def stated(replay: Replay, group: str) -> Callable[..., JSON]:
    """That Widget as a configuration: its spec, and what else its metadata has."""

    def configuration(spec: JSON, *, version: str = "v1", **metadata: JSON) -> JSON:
        return widget(group, spec, version=version, name=replay.name, **metadata)

    return configuration


@pytest.fixture(scope="session")
def kinds() -> Kinds:
    """The built-in kinds."""
    return Kinds(builtin())
