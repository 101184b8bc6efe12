"""`hookrunner cloud call`: one question to a provider, with request and answer."""

from typing import Any

import click
import orjson

from hookrunner.cli.cloud.provider_options import of_provider, probe_of, read_nodes, read_objects
from hookrunner.cli.output import echo, echo_json, to_json
from hookrunner.cli.shared import quiet, run_to_end
from hookrunner.cloud.answers import Want
from hookrunner.cloud.checks.probe import CallReply
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.schemas import answer_schema, request_schema
from hookrunner.cloud.provider.verbs import BY_NAME, NODES, ROUTES, SERVICE, SERVICE_WITH_NODES
from hookrunner.cloud.provider.wire_requests import InstancesQuestion, RouteChanges
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from hookrunner.cloud.services.cloud_service import read_service
from hookrunner.errors import BadInput
from hookrunner.testing import manifests
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """What it is about: Nodes by names or files, a file with a Service, or one with all `params`."""

    named: tuple[str, ...]
    service_file: str | None
    params_file: str | None


@click.command("call")
@of_provider
@click.argument("verb", metavar="VERB", type=click.Choice([*BY_NAME]))
@click.option("--node", "named", multiple=True, metavar="NAME|FILE", help="A Node that it is about; may be repeated.")
@click.option("--service", "service_file", metavar="FILE", help="The Service that it is about, for lb-….")
@click.option("--params", "params_file", metavar="FILE", help="All `params` of the request, in YAML or JSON.")
@click.option("--schema", is_flag=True, help="Ask nothing; print the JSON Schemas of request and answer.")
def cloud_call(program: ProviderProgram, verb: str, schema: bool, **question: Any) -> int:
    """Ask PROVIDER one question, as `cloud start` would, and show request and answer. VERBs that change the cloud do.

    \b
    hookrunner cloud call ./my-cloud capabilities
    hookrunner cloud call ./my-cloud instances --node worker-1 --node node.yaml
    kubectl get service web -o yaml | hookrunner cloud call ./my-cloud lb-ensure --service - --node worker-1
    hookrunner cloud call ./my-cloud routes-apply --params params.yaml
    hookrunner cloud call ./my-cloud instances --schema      what goes in and what comes out, as JSON Schemas

    The request and the provider's log go to standard error, its answer to standard output. It ends with 1 if the
    answer is an error or none, with 2 for bad usage, else with 0.
    """
    asked = BY_NAME[verb]
    if schema:
        echo_json({"request": request_schema(asked), "answer": answer_schema(asked)})
        return 0
    params = _params(asked, Question(**question))
    with quiet():
        reply = run_to_end(probe_of(program).ask(asked, params))
    _show(program, reply)
    return int(bool(reply.problem or reply.error))


def _params(verb: AnyVerb, question: Question) -> JSON:
    if question.params_file:
        return manifests.mapping(question.params_file)
    nodes, service_file = read_nodes(question.named), question.service_file
    if verb.params not in (SERVICE, SERVICE_WITH_NODES):
        about = {NODES: InstancesQuestion(nodes, frozenset(Want)), ROUTES: RouteChanges([], [])}
        return verb.params.document(about.get(verb.params))
    if not service_file:
        raise BadInput(f"{verb} is about a Service: give --service FILE, for example of `kubectl get service -o yaml`")
    (service, *_) = read_objects(service_file, "Service")
    service["metadata"] = {"namespace": "default", "uid": "", **service["metadata"]}
    known = read_service(service)
    return verb.params.document(LoadBalancerRequest(known.document, known.balancer_name, tuple(nodes)))


def _show(program: ProviderProgram, reply: CallReply) -> None:
    echo(_indented(reply.request.text), err=True)
    if log := program.masked(reply.printed.stderr).strip():
        echo(log, err=True)
    printed = program.masked(reply.printed.stdout.decode(errors="replace"))
    echo(_indented(printed.encode()) if not reply.problem else printed)
    if reply.problem:
        echo(f"{program.name}: {reply.problem.rule}: {program.masked(reply.problem.text)}", err=True)
    echo(f"{program.name}: {reply.seconds:.2f} s", err=True)


def _indented(document: bytes) -> str:
    return to_json(orjson.loads(document))
