"""Webhooks to customers: what their tests ask the admin API and the outbox."""

from typing import Any

from support.admin import AdminClient
from support.client import Answer
from support.postgres import Database
from support.process import wait_until
from support.webhook_receiver import row_of

HOUR = 3600.0
KEY = "k" * 32                                        # of --notify-secret-file
TO_THIS_MACHINE = ("--notify-allow", "127.0.0.0/8")   # flags of a server that may send to the tests' receivers


def make_webhook(admin: AdminClient, tenant: str, url: str, **fields: Any) -> dict[str, Any]:
    """A webhook, with its secret."""
    return admin.create("/webhooks", {"tenant_id": tenant, "id": "alerts", "url": url, **fields})


def post_to_webhook(admin: AdminClient, tenant: str, path: str) -> Answer:
    """A POST that has nothing to say."""
    return admin.post(f"/webhooks/alerts{path}", {}, tenant=tenant)


def send_test(admin: AdminClient, tenant: str) -> str:
    """Queues a test event; its id."""
    answer = post_to_webhook(admin, tenant, "/test")
    assert (answer.status, answer.body["status"], answer.body["attempts"]) == (200, "pending", 0), answer
    return str(answer.body["id"])


def delivery(admin: AdminClient, tenant: str, event_id: str) -> dict[str, Any]:
    """What the list says of an event."""
    found = [item for item in admin.items("/webhooks/alerts/deliveries", tenant=tenant) if item["id"] == event_id]
    assert len(found) == 1, found
    return found[0]


def settled(admin: AdminClient, tenant: str, event_id: str, status: str) -> dict[str, Any]:
    """Waits until an event has this status."""
    return wait_until(f"{event_id} to be {status}", lambda: next(
        (item for item in [delivery(admin, tenant, event_id)] if item["status"] == status), None))


def wait_for_attempt(database: Database, event_id: str, number: int) -> None:
    """Waits until so many attempts have failed."""
    wait_until(f"attempt {number} of {event_id}", lambda: row_of(database, event_id) == ("pending", number, False) or None)


def fill_outbox(database: Database, tenant: str, number: int = 2000) -> None:
    """Gives the tenant deliveries that wait, each a second older than the one before."""
    database.execute(
        "INSERT INTO webhook_deliveries (organization_id, tenant_id, webhook_id, id, type, body, created_at) SELECT organization_id, "
        "tenant_id, id, 'evt_' || n, 'test', '{}', now() - n * interval '1 s' FROM webhooks, generate_series(1, %s) n "
        "WHERE tenant_id = %s", (number, tenant))
