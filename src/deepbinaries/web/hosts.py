"""By which names a server lets itself be called.

A page of somebody else can make its own name lead to 127.0.0.1 and then read what a server there answers (DNS
rebinding). The browser still says which name it asked for: names that are not ours are refused.
"""

import ipaddress
import re
from collections.abc import Collection

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,253}))(?::([0-9]{1,5}))?")


def is_allowed(host: str, port: int, *, local: bool, names: Collection[str] = ()) -> bool:
    """Whether a request's Host header names this server.

    An address in numbers cannot be rebound: a server that others can reach accepts any, a local one its own.

    >>> is_allowed("localhost:8765", 8765, local=True), is_allowed("evil.example:8765", 8765, local=True)
    (True, False)
    >>> is_allowed("photos.home", 8765, local=False, names=["photos.home"])
    True
    """
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = (match[1] or match[2]).lower()
    if name in names or host.lower() in names:
        return True
    if int(match[3] or 80) != port:
        return False
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return address.is_loopback or not local
