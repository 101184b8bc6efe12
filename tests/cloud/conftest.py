"""Failed asserts of lives say as much as those of tests."""

import pytest

pytest.register_assert_rewrite("tests.cloud.nodes.node_life", "tests.cloud.services.service_life")
