"""A browser's side of a session of the admin API: it keeps the cookie and sends the headers that browsers send."""

from collections.abc import Mapping
from typing import Any, Optional

from support.admin import AdminClient, Body
from support.client import Answer


class BrowserSession:
    """Somebody who signed in."""

    def __init__(self, client: AdminClient, answer: Answer) -> None:
        self._client = client
        self.cookie = str(answer.header("set-cookie")).split(";", 1)[0]
        self.document: dict[str, Any] = dict(answer.body)
        self.csrf = str(answer.body["csrf_token"])

    @staticmethod
    def sign_in(client: AdminClient) -> "BrowserSession":
        """With the client's token."""
        answer = client.post("/session", {})
        assert answer.status == 200, answer
        return BrowserSession(client, answer)

    def request(self, method: str, path: str, body: Body = None, *, client: Optional[AdminClient] = None,
                headers: Optional[Mapping[str, Optional[str]]] = None, **options: Any) -> Answer:
        """As a page of the console calls; `client`: to another server."""
        sent: dict[str, Optional[str]] = {"authorization": None, "cookie": self.cookie, "sec-fetch-site": "same-origin"}
        if method != "GET":
            sent["x-csrf-token"] = self.csrf
        return (client or self._client).request(method, path, body, headers={**sent, **(headers or {})}, **options)
