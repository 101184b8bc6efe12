"""Writes into the stories what the real control plane answers: `python -m tests.kubesandbox.contract.record [FILE…]`.

Needs `HOOKRUNNER_TEST_KUBECONFIG`. Read the diff before you commit it: whatever is written here is the contract.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

from tests.controlplane.cluster import Cluster
from tests.controlplane.foreign import adopt
from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.story import CASE, Story, prepare, stories, tell

STORIES = Path(__file__).parent / "stories"


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        cluster = Cluster(adopt(Path(os.environ["HOOKRUNNER_TEST_KUBECONFIG"]), Path(scratch)), Path(scratch))
        api = Api("real", cluster.kubeconfig, Path(scratch), cluster.compact)
        try:
            for file in [Path(arg) for arg in sys.argv[1:]] or sorted(STORIES.glob("*.golden")):
                record(api, file)
        finally:
            api.close()


def record(api: Api, file: Path) -> None:
    """Tell every story of the file and replace what it gives."""
    namespace = api.namespace()
    prepare(api, stories(file))

    def retold(found: re.Match[str]) -> str:
        story = Story(found[1], found[2], "")
        try:
            gives = tell(api, namespace, story)
        except AssertionError as failed:
            print(f"{file.name}: {story.name}: {failed}")
            gives = f"BROKEN {failed}"
        return f"=== {story.name}\n{story.given}--- gives\n{gives}\n"

    file.write_text(CASE.sub(retold, file.read_text()))


if __name__ == "__main__":
    main()
