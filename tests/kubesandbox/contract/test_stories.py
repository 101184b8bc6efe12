"""Every story gives what the real control plane gave when it was recorded; on the real one, still.

Level: control plane."""

from pathlib import Path

import pytest

from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.story import prepare, stories, tell
from tests.kubesandbox.recording import Recording

FILES = sorted((Path(__file__).parent / "stories").glob("*.requests"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_stories_end_as_recorded(api: Api, ns: str, file: Path, request: pytest.FixtureRequest) -> None:
    table, recording = stories(file), Recording(f"contract.{file.stem}")
    prepare(api, table)
    for story in table:
        recording.note(story.question, tell(api, ns, story))
    if api.name == "real":
        recording.finish(request.config.getoption("live"))
        return
    different = recording.differences()
    excused = {story.question for story in table if story.differs}
    assert excused <= different.keys(), "some differ no more: take them off the stories and off docs/sandbox.md"
    assert [text for question, text in different.items() if question not in excused] == []


def test_every_story_has_a_name_of_its_own_and_a_recorded_answer() -> None:
    for file in FILES:
        table, recording = stories(file), Recording(f"contract.{file.stem}")
        assert len({story.name for story in table}) == len(table)
        assert {story.question for story in table} == recording.questions, file
