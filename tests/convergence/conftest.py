"""An engine to bring modules' hooks to."""

from tests.engine.conftest import bench, client, jq

__all__ = ["bench", "client", "jq"]
