"""`hookrunner addon seal DIR`: writes checksums and signatures beside packages and channels."""

from pathlib import Path

import click

from hookrunner.cli.output import echo
from hookrunner.cli.shared import run_to_end
from hookrunner.packages.publishing.sealer import Sealed, seal
from hookrunner.packages.signatures.signing_keys import SigningKey, read_signing_key


@click.command("seal")
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Sign packages and channels, too, with this private key: Ed25519 or ECDSA P-256, in PEM, without a password.",
)
def addon_seal(directory: Path, key: Path | None) -> None:
    """Write SHA256SUMS of the packages in a source, and with --key the signatures of packages and channels.

    \b
    openssl genpkey -algorithm ed25519 -out release.key
    openssl pkey -in release.key -pubout -out release.pub       for --addon-keys of those who install
    hookrunner addon seal addons/web/channels --key release.key
    hookrunner addon seal addons/web/channels/packages/web/1.1.0 --key release.key

    DIR is a source, in which packages/ is, or one package of it. What is right stays as it is. Each package's digest is
    printed: as `digest` in a signed channel it keeps a server from giving one signed package for another.
    """
    run_to_end(_seal(directory, read_signing_key(key) if key else None))


async def _seal(directory: Path, key: SigningKey | None) -> None:
    async for sealed in seal(directory, key):
        echo(_line(sealed))
        if sealed.unpinned:
            names = ", ".join(sealed.unpinned)
            echo(f"note: {sealed.name} has no digest of {names}", err=True)


def _line(sealed: Sealed) -> str:
    """What was done, for people and for `grep`."""
    done = f"wrote {' and '.join(sealed.written)}" if sealed.written else "unchanged"
    return ": ".join(filter(None, (sealed.name, done, sealed.digest)))
