"""Every story of `stories/` gives what the real control plane gave when it was recorded."""

from pathlib import Path

import pytest

from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.story import Story, prepare, stories, tell

STORIES = [
    pytest.param(story, id=f"{file.stem}: {story.name}")
    for file in sorted((Path(__file__).parent / "stories").glob("*.golden"))
    for story in stories(file)
]


@pytest.fixture(scope="module", autouse=True)
def _prepared(api: Api, request: pytest.FixtureRequest) -> None:
    """The kinds of the stories that were chosen."""
    chosen = (item.callspec.params.get("story") for item in request.session.items if hasattr(item, "callspec"))
    prepare(api, (story for story in chosen if isinstance(story, Story)))


@pytest.mark.parametrize("story", STORIES)
def test_a_story_ends_as_recorded(api: Api, ns: str, story: Story) -> None:
    told = tell(api, ns, story)
    if api.name == "sandbox" and story.differs:
        assert told != story.expected, "it differs no more: take it off the story and off docs/sandbox.md"
    else:
        assert told == story.expected
