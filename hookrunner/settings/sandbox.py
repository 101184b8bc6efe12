"""The settings of the embedded Kubernetes API, for `hookrunner sandbox` and `start --sandbox`."""

from dataclasses import dataclass
from pathlib import Path

from hookrunner.options import MAYBE_PATH, PATHS, PORT, TEXT, YES_NO, Option, setting


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """What the sandbox begins with and where it listens."""

    enabled: bool = setting(
        Option("sandbox", YES_NO, "false", "Run on an embedded Kubernetes API in this process, no cluster needed.")
    )
    address: str = setting(
        Option(
            "sandbox-address",
            TEXT,
            "127.0.0.1",
            "Sandbox: address to listen on. One that is not loopback needs a token and TLS.",
        )
    )
    port: int = setting(Option("sandbox-port", PORT, "0", "Sandbox: port; 0 takes a free one."))
    kubeconfig: Path | None = setting(
        Option(
            "sandbox-kubeconfig",
            MAYBE_PATH,
            "",
            "Sandbox: where the kubeconfig for it is written; without it `sandbox.kubeconfig` in the `--tmp-dir`.",
        )
    )
    token: str = setting(Option("sandbox-token", TEXT, "", "Sandbox: a bearer token that every request must carry."))
    certificate: Path | None = setting(
        Option("sandbox-tls-cert", MAYBE_PATH, "", "Sandbox: certificate to serve HTTPS with; clients trust it.")
    )
    key: Path | None = setting(Option("sandbox-tls-key", MAYBE_PATH, "", "Sandbox: the key of that certificate."))
    seed: tuple[Path, ...] = setting(
        Option("seed", PATHS, "", "Sandbox: manifests that are there from the beginning; files or directories.")
    )
    data: Path | None = setting(
        Option("data", MAYBE_PATH, "", "Sandbox: a file in which all objects survive a restart.")
    )
    simulate: bool = setting(
        Option("simulate", YES_NO, "false", "Sandbox: Pods run and become Ready, workloads make progress.")
    )
