"""Which addresses a page may reach: http and https on the public network, and what is listed. Nothing else."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from runwire_graphs.errors import Refused

PORTS = {"http": 80, "https": 443}
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Place:
    """A host and a port, as they stand in an address."""

    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Self:
        """The place of an address; raises `Refused` for one that is not http or https."""
        try:
            parts = urlsplit(url.strip())
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise Refused(f"{url!r} is not an address that can be opened: {error}.") from error
        if parts.scheme.lower() not in PORTS or not host:
            raise Refused(f"{url!r} cannot be opened: only http:// and https:// addresses can.")
        return cls(host.lower().rstrip("."), port or PORTS[parts.scheme.lower()])

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Policy:
    """The places of private networks that are allowed all the same."""

    listed: frozenset[Place]

    @classmethod
    def of(cls, origins: Iterable[str]) -> Self:
        return cls(frozenset(Place.of(origin) for origin in origins))

    async def addresses(self, place: Place) -> list[str]:
        """Every IP address of the place, each checked: whoever connects must connect to one of these."""
        found = await _resolve(place)
        if place not in self.listed and (private := [one for one in found if not is_public(one)]):
            raise Refused(
                f"{place} is on a private network ({private[0]}) and is not listed in RUNWIRE_BROWSER_ALLOW, "
                "so it is not opened."
            )
        return [str(one) for one in found]


async def _resolve(place: Place) -> list[IPAddress]:
    try:
        told = await asyncio.get_running_loop().getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Refused(f"The name {place.host} is not known here ({error}).") from error
    return [ipaddress.ip_address(one[4][0]) for one in told]


def is_public(address: IPAddress) -> bool:
    """Whether it is on the public network, also by the IPv4 address that an IPv6 one may carry."""
    if isinstance(address, ipaddress.IPv6Address) and (inner := _carried(address)):
        return is_public(inner)
    return address.is_global and not address.is_multicast


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
