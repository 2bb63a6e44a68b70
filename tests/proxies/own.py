"""Each proxy without Sluice: alone, and with its own limiter. Changes to the configurations of the pages, for comparisons."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

import yaml

from proxies.front import Front
from proxies.fronts import Caddy, Envoy, HaProxy, LimitedEnvoy, Nginx, Traefik
from proxies.page import changed

Change = Callable[[str], str]


def by(diff: str) -> Change:
    """Applies a diff, as those of the pages."""
    return lambda text: changed(text, diff)


NGINX_ASKS = """\
-      auth_request /_sluice;
"""
HAPROXY_ASKS = """\
-  http-request lua.sluice
-  http-request return status 429 content-type application/json lf-string "%[var(txn.sluice_body)]" if { var(txn.sluice_status) -m int 429 }
-  # The agent has answered, but could not judge: 503, or a fault of the configuration.
-  http-request deny deny_status 503 unless { var(txn.sluice_status) -m int 0 200 }
-  # The agent does not answer.
-  http-request deny deny_status 503 if { var(txn.sluice_status) -m int 0 }
"""
TRAEFIK_ASKS = """\
-      middlewares: [sluice]
"""


def nginx_own(requests: int) -> Change:
    """limit_req for each address."""
    return by(f"""\
-  upstream app {{
+  limit_req_zone $binary_remote_addr zone=own:1m rate={requests}r/m;
+  upstream app {{
{NGINX_ASKS}+      limit_req zone=own burst={requests - 1} nodelay;
""")


def haproxy_own(requests: int) -> Change:
    """A stick table of addresses."""
    return by(f"""\
{HAPROXY_ASKS}+  stick-table type ip size 100k expire 60s store http_req_rate(60s)
+  http-request track-sc0 src
+  http-request deny deny_status 429 if {{ sc_http_req_rate(0) gt {requests} }}
""")


def traefik_own(requests: int) -> Change:
    """The middleware RateLimit."""
    return by(f"""\
{TRAEFIK_ASKS}+      middlewares: [own]
-  middlewares:
+  middlewares:
+    own:
+      rateLimit: {{average: {requests}, period: 1m, burst: {requests}}}
""")


def envoy_filters(*filters: Any) -> Change:
    """Puts these in the place of the filter that asks Sluice."""
    def change(text: str) -> str:
        document = yaml.safe_load(text)
        manager = document["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
        manager["http_filters"][:-1] = filters
        return str(yaml.safe_dump(document))
    return change


def envoy_own(requests: int) -> Change:
    """The filter local_ratelimit."""
    always = {"default_value": {"numerator": 100}}
    return envoy_filters({
        "name": "envoy.filters.http.local_ratelimit",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
            "stat_prefix": "own",
            "token_bucket": {"max_tokens": requests, "tokens_per_fill": requests, "fill_interval": "60s"},
            "filter_enabled": always, "filter_enforced": always,
        },
    })


def caddy_alone(text: str) -> str:
    """Without the sub-request."""
    found, times = re.subn(r"\t\treverse_proxy 127\.0\.0\.1:8088 \{\n.*?\n\t\t\}\n", "", text, flags=re.DOTALL)
    assert times == 1
    return found


@dataclass(frozen=True)
class Kind:
    """A proxy, and what the file of its page becomes."""

    name: str
    front: type[Front]
    file: str
    alone: Change
    own: Optional[Callable[[int], Change]]   # for so many requests a minute; None: it has none


KINDS = (
    Kind("nginx", Nginx, "nginx.conf", by(NGINX_ASKS), nginx_own),
    Kind("HAProxy", HaProxy, "haproxy.cfg", by(HAPROXY_ASKS), haproxy_own),
    Kind("Traefik", Traefik, "routes.yaml", by(TRAEFIK_ASKS), traefik_own),
    Kind("Caddy", Caddy, "Caddyfile", caddy_alone, None),
    Kind("Envoy ext_authz", Envoy, "envoy.yaml", envoy_filters(), envoy_own),
    Kind("Envoy ratelimit", LimitedEnvoy, "envoy.yaml", envoy_filters(), None),
)


def altered(kind: Kind, change: Optional[Change]) -> type[Front]:
    """The proxy with its page's file changed."""
    if change is None:
        return kind.front
    apply = change

    class Altered(kind.front):   # type: ignore[name-defined, misc]
        """The same proxy."""

        def configured(self, files: dict[str, str]) -> dict[str, str]:
            files = super().configured(files)
            files[kind.file] = apply(files[kind.file])
            return files

    return Altered
