"""Which privacy is in force: the operator's word, else what the address of the model says."""

import ipaddress
from urllib.parse import urlsplit

from patrol.settings.model import ModelSection
from patrol.settings.values import Privacy

LOCAL_SUFFIXES = (".local", ".lan", ".home.arpa", ".localhost")
"""Ends of names that only mean something in one's own network (RFC 6762, RFC 8375, RFC 6761, and by custom)."""


def privacy_in_force(model: ModelSection) -> Privacy:
    """`full` for a model that is in this network, `pseudonyms` for any other; what is set wins.

    Ollama without an address is the one on this host, except for its models that end in `-cloud`: those are
    answered elsewhere, whoever is asked.
    """
    if model.privacy is not None:
        return model.privacy
    provider, _, name = model.name.partition(":")
    is_ollama = provider.strip().casefold() == "ollama"
    if is_ollama and name.strip().casefold().endswith(("-cloud", ":cloud")):
        return Privacy.PSEUDONYMS
    here = is_local(model.base_url) if model.base_url else is_ollama
    return Privacy.FULL if here else Privacy.PSEUDONYMS


def is_local(url: str) -> bool:
    """Whether the host of a URL is in this network. A URL that cannot be read is not."""
    try:
        host = (urlsplit(url if "://" in url else f"//{url}").hostname or "").rstrip(".")
    except ValueError:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        # A last label of digits is an address in another notation, and need not be a local one.
        is_name = bool(host) and not host.rsplit(".", 1)[-1][:1].isdigit()
        return is_name and ("." not in host or host.endswith(LOCAL_SUFFIXES))
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        address = mapped
    return address.is_private or address.is_loopback or address.is_link_local
