"""The pytest plugin: a fixture `hook` that runs hooks without a cluster (`hooks.py` says what it can do).

pytest loads this file in every project of an environment with hookrunner in it, so it imports nothing: the fixtures do.
"""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def hookrunner_tools() -> Iterator[object]:
    """What all tests of a session share to run hooks."""
    # 0.2 s that a session without tests of hooks must not wait for.
    from hookrunner.testing.hooks import Tools

    with Tools() as tools:
        yield tools


@pytest.fixture
def hook(request: pytest.FixtureRequest) -> object:
    """A hook by its path: `hook("hooks/copy.sh").given(secret).on_event("Added", secret).patches`.

    The path is relative to pytest's root directory or to the test's file. The type is `hookrunner.testing.hooks.Hooks`.
    """
    # Asked for here, and not as an argument, so that a project with a fixture `hook` of its own pays nothing.
    from hookrunner.testing.hooks import Hooks

    tools = request.getfixturevalue("hookrunner_tools")
    return Hooks(tools, (request.config.rootpath, request.path.parent))
