"""Rules of the verb `instances`, on whose answers Nodes are opened, marked and deleted."""

from collections import Counter
from collections.abc import Mapping

from hookrunner.cloud.answers import InstanceAnswer, InstanceState
from hookrunner.cloud.checks.check_rules import BOTH, CheckSubject, Need, Rule
from hookrunner.cloud.checks.made_up_objects import FOREIGN_ID, made_up_node, made_up_nodes
from hookrunner.cloud.checks.probe import QuestionFailed
from hookrunner.cloud.nodes.initialization import invalid_metadata
from hookrunner.cloud.provider.verbs import INSTANCES
from hookrunner.cloud.provider.wire_requests import InstancesQuestion

_MANY = 500
_SHOWN = 3
_THERE = (InstanceState.RUNNING, InstanceState.SHUTDOWN)


async def _check_no_nodes(subject: CheckSubject) -> list[str]:
    reply = await subject.probe.ask(INSTANCES, INSTANCES.params.document(InstancesQuestion([], BOTH)))
    entries = reply.result().get("instances")
    return [] if entries == [] else ["asked about no Node, it must answer with an empty list 'instances'"]


async def _check_complete(subject: CheckSubject) -> list[str]:
    nodes = [*subject.nodes, *made_up_nodes(_MANY)][: min(_MANY, subject.capabilities.max_batch)]
    reply = await subject.probe.ask(INSTANCES, INSTANCES.params.document(InstancesQuestion(nodes, BOTH)))
    entries = reply.result().get("instances")
    if not isinstance(entries, list):
        return ["its result has no list 'instances'"]
    counted = Counter(str(entry.get("name")) for entry in entries if isinstance(entry, dict))
    names = {node.name for node in nodes}
    missing, doubled = [name for name in names if not counted[name]], [name for name in names if counted[name] > 1]
    strangers = counted.keys() - names
    return [
        *([f"of {len(nodes)} Nodes, {len(missing)} have no entry: {_some(missing)}"] if missing else []),
        *([f"Nodes with several entries: {_some(doubled)}"] if doubled else []),
        *([f"entries of Nodes that were not asked about: {_some(strangers)}"] if strangers else []),
    ]


async def _check_made_up_id(subject: CheckSubject) -> list[str]:
    prefix = subject.capabilities.provider_id_prefixes[0]
    node = made_up_node(f"{prefix}hookrunner-check-0000")
    try:
        answer = (await subject.ask_instances([node]))[node.name]
    except QuestionFailed as error:
        return [f"an id that it does not know fails the whole call, and with it all other Nodes: {error}"]
    if answer.state in _THERE:
        return [f"the made-up id {node.provider_id} is {answer.state}: look for the providerID before the name"]
    return _unusable({node.name: answer})


async def _check_made_up_name(subject: CheckSubject) -> list[str]:
    node = made_up_node()
    answer = (await subject.ask_instances([node]))[node.name]
    if answer.state is InstanceState.NOT_FOUND:
        return ["a Node without providerID that it does not know is notFound; answer skip or unknown"]
    if answer.state in _THERE:
        return [f"the made-up Node {node.name} is {answer.state}"]
    return _unusable({node.name: answer})


async def _check_foreign_id(subject: CheckSubject) -> list[str]:
    node = made_up_node(FOREIGN_ID)
    try:
        answer = (await subject.ask_instances([node]))[node.name]
    except QuestionFailed as error:
        return [f"a providerID of another cloud fails the whole call, and with it all other Nodes: {error}"]
    if answer.state in (*_THERE, InstanceState.NOT_FOUND):
        return [f"{FOREIGN_ID} is {answer.state}; for a foreign Node answer skip"]
    return _unusable({node.name: answer})


async def _check_order(subject: CheckSubject) -> list[str]:
    nodes = [*subject.nodes, *made_up_nodes(4), made_up_node(FOREIGN_ID)]
    there, back = await subject.ask_instances(nodes), await subject.ask_instances(nodes[::-1])
    return _different(there, back, "in another order of the Nodes")


async def _check_alone(subject: CheckSubject) -> list[str]:
    node, *others = [*subject.nodes, *made_up_nodes(4)]
    together = await subject.ask_instances([node, *others])
    alone = await subject.ask_instances([node])
    return _different({node.name: together[node.name]}, alone, "asked about alone")


async def _check_real(subject: CheckSubject) -> list[str]:
    answers = await subject.ask_instances(subject.nodes)
    absent = [
        f"{name} is {answer.state}" + (f" ({answer.message})" if answer.message else "")
        for name, answer in answers.items()
        if answer.state not in _THERE
    ]
    bare = [name for name, answer in answers.items() if answer.state in _THERE and not _id_of(answer)]
    return [*absent, *(f"{name} has no providerID, without which its Node is not initialised" for name in bare)]


async def _check_metadata(subject: CheckSubject) -> list[str]:
    answers = await subject.ask_instances(subject.nodes)
    problems = (
        (name, invalid_metadata(answer.metadata, subject.capabilities))
        for name, answer in answers.items()
        if answer.metadata
    )
    return [f"{name}: {problem.message}" for name, problem in problems if problem]


async def _check_same_machine(subject: CheckSubject) -> list[str]:
    first = await subject.ask_instances(subject.nodes)
    known = [made_up_node(_id_of(first[node.name]), node.name) for node in subject.nodes if _id_of(first[node.name])]
    renamed = [made_up_node(_id_of(first[node.name])) for node in subject.nodes if _id_of(first[node.name])]
    again = await subject.ask_instances(known)
    by_id = await subject.ask_instances(renamed)
    lost = [node.provider_id for node in renamed if by_id[node.name].state not in _THERE]
    return [
        *_different({node.name: first[node.name] for node in known}, again, "asked with its providerID"),
        *(f"{provider_id} is not found by its id alone, under another name" for provider_id in lost),
    ]


def _id_of(answer: InstanceAnswer) -> str:
    return answer.metadata.provider_id if answer.metadata else ""


def _unusable(answers: Mapping[str, InstanceAnswer]) -> list[str]:
    """Entries that were read as unknown because of their form."""
    return [answer.message for answer in answers.values() if answer.message.startswith("the provider's ")]


def _different(left: Mapping[str, InstanceAnswer], right: Mapping[str, InstanceAnswer], when: str) -> list[str]:
    return [
        f"{name} is {_shown(right[name])} {when}, and {_shown(answer)} otherwise"
        for name, answer in left.items()
        if (answer.state, answer.metadata) != (right[name].state, right[name].metadata)
    ][:_SHOWN]


def _shown(answer: InstanceAnswer) -> str:
    return f"{answer.state} {_id_of(answer)}".strip()


def _some(names: "list[str] | set[str]") -> str:
    shown = sorted(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


INSTANCE_RULES = (
    Rule("no-nodes", "asked about no Node, it answers with no entry", _check_no_nodes, "instances"),
    Rule("complete", "asked about 500 Nodes, it answers about each of them once", _check_complete, "instances"),
    Rule(
        "made-up-id", "an id that does not exist is not running, and fails nothing else", _check_made_up_id, "instances"
    ),
    Rule("made-up-name", "an unknown Node without providerID is not notFound", _check_made_up_name, "instances"),
    Rule("foreign-id", "a Node of another cloud is skipped", _check_foreign_id, "instances"),
    Rule("order", "the order of the Nodes changes no answer", _check_order, "instances"),
    Rule("alone", "a Node is the same alone and among others", _check_alone, "instances"),
    Rule("known-node", "its own Nodes are found, with a providerID", _check_real, "instances", (Need.NODES,)),
    Rule("metadata", "ids, labels and addresses can be written to a Node", _check_metadata, "instances", (Need.NODES,)),
    Rule("by-id", "a machine is found by its id, and is the same", _check_same_machine, "instances", (Need.NODES,)),
)
