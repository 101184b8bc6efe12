"""Which texts of a machine's metadata may be written to a Node.

A text is valid and written as it is, or it is part of a message, masked and printable, and never written.
"""

from collections.abc import Iterator

from hookrunner.cloud.answers import InstanceMetadata
from hookrunner.cloud.nodes.node_addresses import invalid_addresses
from hookrunner.cloud.nodes.node_labels import invalid_labels
from hookrunner.cloud.shown_texts import Mask, quoted

LONGEST_ID = 1024


def invalid_texts(metadata: InstanceMetadata, mask: Mask = str) -> Iterator[str]:
    """What is wrong with them, each as a sentence that people may see. Of a providerID the API server takes anything,
    also codes that a terminal obeys, and it can never be changed."""
    provider_id = metadata.provider_id
    if not provider_id.isprintable() or len(provider_id) > LONGEST_ID:
        yield f"providerID {quoted(provider_id, mask)}: at most {LONGEST_ID:,} characters, all of which print"
    yield from invalid_labels(metadata, mask)
    yield from invalid_addresses(metadata.addresses, mask)
