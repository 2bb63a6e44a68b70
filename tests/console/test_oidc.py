"""Signing in by an OpenID provider, in the browser: there and back, reload, signing out, and everything that can go wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from console.test_sign_in import REFUSED
from support.browser import Console, Page, expect
from support.oidc_provider import OidcProvider, Visitor
from support.process import wait_until
from support.server import Server

BUTTON = "Sign in with Example Login"
FONTS = "https://fonts.googleapis.com"   # of the provider's form


@dataclass
class House:
    """A server with a provider; ada's group is mapped to platform_admin, olga's to operator."""

    server: Server
    provider: OidcProvider
    browser: Any
    tabs: list[Console] = field(default_factory=list)

    def open(self, path: str = "/", **options: bool) -> Page:
        """A browser of its own, which trusts the provider."""
        console = Console(self.browser, self.server, others=(self.provider.issuer, FONTS), trusting=True, **options)
        # The provider's own pages want fonts from elsewhere, and an icon that it does not have.
        console.page.route(f"{FONTS}/**", lambda route: route.abort())
        console.allowed |= {REFUSED, "Failed to load resource"}   # the browser's own lines about answers that the page handles
        self.tabs.append(console)
        return console.open(path).page

    def await_provider(self) -> None:
        """Until the server asks the provider again: after a failure it pauses for a second."""
        start = f"http://127.0.0.1:{self.server.port}/v1/console/oidc/start"
        wait_until("a sign-in that begins", lambda: Visitor(self.provider, self.server).get(start).location.startswith(self.provider.issuer))


@pytest.fixture(scope="module")
def served(browser: Any, module_server: Callable[..., Server], module_folder: Path) -> Iterator[House]:
    """One for the module."""
    provider = OidcProvider(module_folder / "provider")
    server = module_server()
    provider.attach(server).start()
    server.start()
    with server.admin() as admin:
        organization = admin.organization()
        admin.create("/group-mappings", {"group": "sluice-admins", "role": "platform_admin"})
        admin.create("/group-mappings", {"group": "operators", "role": "operator", "organization_id": organization,
                                         "tenant_ids": [admin.tenant(organization)]})
    yield House(server, provider, browser)
    provider.stop()


@pytest.fixture
def house(served: House) -> Iterator[House]:
    """Closes its tabs, and looks at what went wrong in them."""
    yield served
    tabs, served.tabs = served.tabs, []
    for tab in tabs:
        tab.close()


def log_in(page: Page, login: str) -> None:
    """At the provider's form."""
    page.get_by_role("button", name=BUTTON).click()
    page.locator("input[name=login]").fill(login)
    page.locator("input[name=password]").fill("any")
    page.locator("button[type=submit]").click()


def test_a_person_signs_in_comes_back_to_the_view_and_stays_over_a_reload_until_they_sign_out(house: House) -> None:
    page = house.open("/policies?tenant=shop")
    log_in(page, "ada")
    expect(page.locator("main h1")).to_contain_text("Policies")
    assert page.url == f"{house.tabs[-1].origin}/policies?tenant=shop"
    expect(page.get_by_role("navigation")).to_contain_text("Ada Lovelace, platform_admin")
    everything = page.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
    assert "sluice_session" not in everything and "sluice_sign_in" not in everything
    page.reload()
    expect(page.get_by_role("navigation")).to_contain_text("Ada Lovelace")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()


def test_a_group_gives_its_role_and_what_the_role_may_not_do_is_not_offered(house: House) -> None:
    page = house.open()
    log_in(page, "olga")
    navigation = page.get_by_role("navigation")
    expect(navigation).to_contain_text("Olga, operator")
    expect(navigation.get_by_role("link", name="Audit")).to_be_visible()
    for title in ("Tokens", "Groups", "Bindings"):
        assert navigation.get_by_role("link", name=title).count() == 0
    page.goto(f"{house.tabs[-1].origin}/plans")
    expect(page.locator("main h1")).to_contain_text("Plans")
    assert page.get_by_role("link", name="New plan").count() == 0


def test_who_has_no_group_here_is_told_what_to_do(house: House) -> None:
    page = house.open("/policies")
    log_in(page, "nora")
    expect(page.get_by_role("alert")).to_contain_text("none of your groups may use this server")
    expect(page.get_by_role("alert")).to_contain_text("Request ")
    assert "sign_in" not in page.url
    page.reload()
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert house.tabs[-1].serious_findings() == []


def test_a_session_that_has_ended_is_said_and_the_person_goes_on_there(house: House) -> None:
    page = house.open("/fleet")
    log_in(page, "ada")
    expect(page.locator("main h1")).to_contain_text("Fleet")
    house.server.database.execute("UPDATE console_sessions SET expires_at = now() - interval '1 second' WHERE subject = 'ada'")
    expect(page.get_by_text("Your session has ended.")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name=BUTTON).click()   # the provider still knows who this is
    expect(page.locator("main h1")).to_contain_text("Fleet")


def test_a_mapping_that_is_deleted_signs_its_people_out(house: House) -> None:
    page = house.open("/fleet")
    with house.server.admin() as admin:
        made = admin.create("/group-mappings", {"group": "staff", "role": "auditor"})
    log_in(page, "nora")
    expect(page.locator("main h1")).to_contain_text("Fleet")
    with house.server.admin() as admin:
        assert admin.delete(f"/group-mappings/{made['id']}").status == 204
    expect(page.get_by_text("Your session has ended.")).to_be_visible(timeout=60_000)


def test_a_callback_that_is_replayed_or_forged_signs_nobody_in(house: House) -> None:
    page = house.open()
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url) if "/oidc/callback" in request.url else None)
    log_in(page, "ada")
    expect(page.get_by_role("navigation")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    for url in (seen[0], seen[0].replace("state=", "state=x")):
        page.goto(url)
        expect(page.get_by_role("alert")).to_contain_text("Sign in again")
        expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    elsewhere = house.open()   # somebody whom an attacker lets finish the attacker's sign-in
    elsewhere.goto(seen[0])
    expect(elsewhere.get_by_role("alert")).to_contain_text("began in another browser")


def test_keys_that_were_rotated_and_a_provider_that_went_away(house: House) -> None:
    page = house.open()
    log_in(page, "ada")
    expect(page.get_by_role("navigation")).to_be_visible()
    house.provider.restart()
    other = house.open()
    log_in(other, "ada")
    expect(other.get_by_role("navigation")).to_contain_text("Ada Lovelace")
    house.provider.stop()
    try:
        house.server.restart()
        page.reload()
        expect(page.get_by_role("navigation")).to_contain_text("Ada Lovelace")   # a session needs no provider
        third = house.open()
        third.get_by_role("button", name=BUTTON).click()
        expect(third.get_by_role("alert")).to_contain_text("The provider does not answer now")
        third.get_by_label("Admin token").fill(house.server.token)
        third.get_by_role("button", name="Sign in with the token").click()
        expect(third.get_by_role("navigation")).to_be_visible()
    finally:
        house.provider.start()
        house.await_provider()


def test_an_administrator_maps_a_group_changes_and_deletes_it(house: House) -> None:
    page = house.open("/groups")
    log_in(page, "ada")
    expect(page.get_by_role("row", name="sluice-admins")).to_contain_text("platform_admin")
    page.get_by_role("button", name="New mapping").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Group").fill("Night shift")
    dialog.get_by_label("Role").select_option("operator")
    dialog.get_by_role("button", name="Make the mapping").click()
    row = page.get_by_role("row", name="Night shift")
    expect(row).to_contain_text("the whole platform")
    row.get_by_role("button", name="Change").click()
    dialog.get_by_label("Role").select_option("auditor")
    dialog.get_by_role("button", name="Change it").click()
    expect(row).to_contain_text("auditor")
    row.get_by_role("button", name="Delete").click()
    dialog.get_by_role("textbox").fill("night-shift")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("row", name="Night shift")).to_have_count(0)


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_sign_in_view_can_be_read_by_everybody(house: House, dark: bool, narrow: bool) -> None:
    page = house.open("/", dark=dark, narrow=narrow)
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert house.tabs[-1].serious_findings() == []
