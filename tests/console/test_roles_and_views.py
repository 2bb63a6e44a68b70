"""Every view in every role: what it shows, what it offers, and that the server refuses what it does not offer."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from console.conftest import Shop
from console.test_views import VIEWS
from support.browser import Browser, Console, expect
from support.roles import PERMISSIONS, REACH


@dataclass(frozen=True)
class Who:
    """A role, and how far its token reaches."""

    role: str
    reach: str = "platform"

    def may(self, permission: str, level: str = "tenant") -> bool:
        """Whether the server allows it."""
        return self.role in PERMISSIONS[permission] and REACH[self.reach] >= REACH[level]


WHO = {"platform_admin": Who("platform_admin"), "org_admin": Who("org_admin", "organization"), "operator": Who("operator"),
       "auditor": Who("auditor"), "operator of a tenant": Who("operator", "tenant"), "org_admin of a tenant": Who("org_admin", "tenant")}

# Views that only some see, by the permission they need.
NEEDS = {"tokens": "read_tokens", "groups": "read_tokens", "bindings": "read_tokens", "audit": "read_audit"}


@dataclass(frozen=True)
class Offer:
    """A button or a link of a view that changes something, what it takes, and the call that it makes."""

    role: str
    name: str
    permission: str
    call: tuple[str, str]
    level: str = "tenant"


# Calls that fail for another reason than the role, so that they destroy nothing where the role may make them.
OFFERS: dict[str, list[Offer]] = {
    "policies": [Offer("link", "New policy", "configure", ("POST", "policies")),
                 Offer("button", "off", "configure", ("PATCH", "policies/none?tenant_id=shop"))],
    "policy": [Offer("button", "Delete", "configure", ("DELETE", "policies/none?tenant_id=shop")),
               Offer("button", "Save", "configure", ("PUT", "policies/none?tenant_id=shop")),
               Offer("slider", "Rollout: 100 % of subjects", "operate", ("POST", "policies/none/rollout?tenant_id=shop"))],
    "new policy": [Offer("button", "Make the policy", "configure", ("POST", "policies"))],
    "plans": [Offer("link", "New plan", "configure", ("POST", "plans"))],
    "plan": [Offer("button", "Delete", "configure", ("DELETE", "plans/none?tenant_id=shop")),
             Offer("button", "Save", "configure", ("PUT", "plans/none?tenant_id=shop"))],
    "subject": [Offer("button", "Override", "operate", ("POST", "overrides")),
                Offer("button", "Reset the counters", "operate", ("POST", "counters/reset"))],
    "playground": [Offer("button", "Fire", "operate", ("POST", "playground/check"))],
    "keys": [Offer("button", "New key", "configure", ("POST", "keys")), Offer("button", "Rotate", "configure", ("PATCH", "keys/none")),
             Offer("button", "Revoke", "configure", ("DELETE", "keys/none"))],
    "tenants": [Offer("button", "New tenant", "configure", ("POST", "tenants"), "organization"),
                Offer("button", "Delete", "configure", ("DELETE", "tenants/none"), "organization"),
                Offer("button", "Change", "operate", ("PUT", "modes/tenants/none"))],
    "tokens": [Offer("button", "New admin token", "grant", ("POST", "tokens")),
               Offer("button", "New agent token", "grant", ("POST", "agent-tokens")),
               Offer("button", "Revoke", "grant", ("DELETE", "tokens/none"))],
    "groups": [Offer("button", "New mapping", "grant", ("POST", "group-mappings"), "platform")],
    "bindings": [Offer("button", "New binding", "grant", ("POST", "bindings"), "platform")],
}

CALL = """async ([method, path]) => {
  const session = await (await fetch("/v1/admin/session")).json();
  const answer = await fetch(`/v1/admin/${path}`, {
    method, ...(method === "DELETE" ? {} : {body: "{}"}),
    headers: {"content-type": "application/json", "x-csrf-token": session.csrf_token}});
  return answer.status; }"""


@pytest.fixture(scope="module", params=WHO)
def signed_in(request: pytest.FixtureRequest, browser: Browser, shop: Shop) -> Iterator[tuple[Who, Console]]:
    """A tab of this role, for all views."""
    who = WHO[request.param]
    with shop.admin() as admin:
        organization = admin.get("/tenants/shop").body["organization_id"]
    scope = {"platform": {}, "organization": {"organization_id": organization},
             "tenant": {"organization_id": organization, "tenant_ids": ["shop"]}}[who.reach]
    console = Console(browser, shop.server).open("/explain").sign_in(shop.token(who.role, **scope))
    # The browser's own lines about calls that a test makes to be refused.
    console.allowed.update(f"status of {status}" for status in (403, 404, 422, 428))
    yield who, console
    console.close()


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_offers_what_the_role_may_do_and_the_server_refuses_the_rest(view: str, signed_in: tuple[Who, Console]) -> None:
    who, console = signed_in
    path, heading, text = VIEWS[view]
    page = console.go(path).page
    if view in NEEDS and not who.may(NEEDS[view]):
        expect(page.locator("main h1")).to_contain_text("There is no such view")
        return
    expect(page.locator("main h1")).to_contain_text(heading)
    if view == "new policy" and not who.may("configure"):
        return   # nothing leads there; that its form is refused is asked below
    beyond_reach = view in ("tokens", "groups", "fleet") and who.reach != "platform"   # what they show of the shop is the platform's
    if not beyond_reach and (view != "playground" or who.may("operate")):
        expect(page.locator("main")).to_contain_text(text)
    for offer in OFFERS.get(view, []):
        there = page.locator("main").get_by_role(offer.role, name=offer.name, exact=True)
        if who.may(offer.permission, offer.level):
            expect(there.first).to_be_visible()
        else:
            usable = [each for each in there.all() if each.is_enabled()]
            assert not usable, f"{offer.name} is offered to {who}"
            assert page.evaluate(CALL, list(offer.call)) == 403, offer


def test_the_mode_of_the_platform_is_offered_to_whose_token_reaches_so_far(signed_in: tuple[Who, Console]) -> None:
    who, console = signed_in
    page = console.go("/tenants").page
    expect(page.get_by_text("The whole platform:")).to_be_visible()
    assert page.get_by_text("The whole platform:").get_by_role("button").count() == int(who.may("operate", "platform"))
