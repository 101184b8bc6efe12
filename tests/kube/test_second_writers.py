"""Operations of hooks on an object that another client writes between our reading and writing, on a sandbox.

Level: sandbox."""

import pytest

from hookrunner.errors import Conflict
from hookrunner.jq.program import Jq
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.objects import Objects
from hookrunner.model.operations import Verb
from tests.fakes.objects import config_map
from tests.fakes.second_writer import once, overtaken_client
from tests.kube.server import ApiServer
from tests.kube.test_objects import DELETES, boxed, jq, operation
from tests.tables import each

__all__ = ["boxed", "jq"]


async def test_a_replaced_object_is_the_one_that_was_read(api: ApiServer, jq: Jq) -> None:
    """An edit between reading and writing is read first, so a JQPatch keeps it and CreateOrUpdate replaces it."""
    edited = config_map("a", their="data")
    async with overtaken_client(api.url) as client:
        objects = Objects(client, Discovery(client), jq)
        for verb, left in (
            (Verb.JQ_PATCH, {"their": "data", "color": "red"}),
            (Verb.CREATE_OR_UPDATE, {"color": "red"}),
        ):
            api.put(config_map("a"))
            client.before_write = once("PUT", lambda: api.put(edited))
            body = config_map("a", color="red")
            await objects.carry_out(operation(verb, "default", body, jq_filter='.data.color = "red"'))
            assert api.get(edited)["data"] == left
            assert len(api.asked("PUT")) == 2
            api.faults.requests.clear()


@each("verb", DELETES)
async def test_only_the_object_that_is_meant_is_deleted(api: ApiServer, boxed: Objects, verb: Verb) -> None:
    """One that was created again under the name stays, and the deletion of the other has succeeded; one that has
    changed stays, and the deletion has failed."""
    metadata = api.put(config_map("a"))["metadata"]
    version = metadata["resourceVersion"]
    await boxed.carry_out(operation(verb, "default", uid="another"))
    api.put(config_map("a", x="2"))
    with pytest.raises(Conflict, match="in the precondition"):
        await boxed.carry_out(operation(verb, "default", uid=metadata["uid"], version=version))
    assert api.get(config_map("a"))
    await boxed.carry_out(operation(verb, "default", uid=metadata["uid"]))
    assert api.get(config_map("a")) is None
