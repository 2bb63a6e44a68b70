"""The client of Sluice: asks the agent whether a request may go on.

    import sluice
    client = sluice.Client()
    if client.check("GET:/orders", "user:42").allowed: ...

`AsyncClient` is the same for asyncio. sdk/CONTRACT.md says what both do.
"""

from sluice._async import AsyncClient, AsyncLease
from sluice._decision import Check, Decision, RateLimitResult
from sluice._errors import Kind, SluiceError
from sluice._options import OnError
from sluice._sync import Client, Lease
from sluice._version import VERSION as __version__

__all__ = ["AsyncClient", "AsyncLease", "Check", "Client", "Decision", "Kind", "Lease", "OnError", "RateLimitResult",
           "SluiceError", "__version__"]
