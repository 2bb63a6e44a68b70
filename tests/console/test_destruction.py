"""All that the console can destroy: it asks first, names what it will destroy, does it, and offers the way back where there is one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Optional

import pytest

from console.conftest import SECONDS, Shop
from support.admin import ONE_PER_SECOND, AdminClient, bucket, fresh_id
from support.browser import Browser, Console, expect
from support.process import wait_until

Read = Callable[[AdminClient], Any]


@dataclass(frozen=True)
class Deed:
    """Something to destroy. `prepare` makes a victim with this id; `path` shows it, with a button `button` (in the row of
    `row`, where there are several). `typed`: what must be typed, {id} and all. `read`: what is stored, for comparing before, after
    and undone; None stands for gone. `after`: what is stored then."""

    path: str
    button: str
    verb: str
    prepare: Callable[[AdminClient, str], str]   # gets a fresh name, gives the victim's id
    read: Callable[[str], Read]
    after: Any = None
    row: bool = False
    typed: Optional[str] = None
    before: Optional[Callable[[Any], None]] = None   # in the page, for the button to be there
    within: Optional[Callable[[Any], None]] = None   # in the dialog
    undone: bool = False   # whether there is a way back


def _stored(path: str, member: str = "") -> Callable[[str], Read]:
    """An object of the shop, or one member of it."""
    def of(name: str) -> Read:
        def read(admin: AdminClient) -> Any:
            answer = admin.get(path.format(id=name), query={"tenant_id": "shop"} if path.startswith(("/policies", "/plans")) else {})
            if answer.status != 200:
                return None
            kept = {key: value for key, value in answer.body.items() if key not in ("version", "created_at", "updated_at")}
            return kept.get(member) if member else kept
        return read
    return of


def _policy(admin: AdminClient, name: str) -> str:
    body = {"scope": {"resource": f"GET:/{name}"}, "key_by": ["subject"], "limits": [ONE_PER_SECOND]}
    assert admin.put(f"/policies/{name}", body, tenant="shop").status == 201
    return name


def _policy_of_two_versions(admin: AdminClient, name: str) -> str:
    _policy(admin, name)
    assert admin.patch(f"/policies/{name}", {"priority": 7}, tenant="shop").status == 200
    return name


def _plan(admin: AdminClient, name: str) -> str:
    assert admin.put(f"/plans/{name}", bucket(id=name), tenant="shop").status == 201
    return name


def _plan_of_two_versions(admin: AdminClient, name: str) -> str:
    _plan(admin, name)
    assert admin.patch(f"/plans/{name}", {"name": f"{name} renamed"}, tenant="shop").status == 200
    return name


def _tenant(admin: AdminClient, name: str) -> str:
    organization = admin.get("/tenants/shop").body["organization_id"]
    admin.create("/tenants", {"id": name, "organization_id": organization, "record_requests": True})
    return name


def _made(path: str, **fields: Any) -> Callable[[AdminClient, str], str]:
    return lambda admin, name: str(admin.create(path, {"name": name, **fields})["id"])


def _binding(admin: AdminClient, name: str) -> str:
    return str(admin.create("/bindings", {"namespace": name, "service_account": "*", "tenant_ids": ["shop"]})["id"])


def _mapping(admin: AdminClient, name: str) -> str:
    return str(admin.create("/group-mappings", {"group": name, "role": "auditor"})["id"])


def _choose(mode: str) -> Callable[[Any], None]:
    def choose(dialog: Any) -> None:
        dialog.get_by_label("Mode", exact=True).select_option(mode)
    return choose


def _slide(page: Any) -> None:
    page.get_by_role("slider").fill("25")


def _open_first_version(page: Any) -> None:
    page.get_by_text("Version 1", exact=True).click()


DEEDS = {
    "delete a policy": Deed("/policies/{id}?tenant=shop", "Delete", "Delete", _policy, _stored("/policies/{id}"), typed="{id}", undone=True),
    "delete a plan": Deed("/plans/{id}?tenant=shop", "Delete", "Delete", _plan, _stored("/plans/{id}"), typed="{id}", undone=True),
    "delete a tenant": Deed("/tenants", "Delete", "Delete", _tenant, _stored("/tenants/{id}"), row=True, typed="{id}", undone=True),
    "delete a binding": Deed("/bindings", "Delete", "Delete", _binding, _stored("/bindings/{id}"), row=True, typed="{id}", undone=True),
    "delete a group's mapping": Deed("/groups", "Delete", "Delete", _mapping, _stored("/group-mappings/{id}"), row=True, typed="{id}",
                                     undone=True),
    "revoke a key": Deed("/keys?tenant=shop", "Revoke", "Revoke", _made("/keys", tenant_id="shop"), _stored("/keys/{id}"), row=True,
                         typed="{id}"),
    "revoke an admin token": Deed("/tokens", "Revoke", "Revoke", _made("/tokens", role="auditor"), _stored("/tokens/{id}"),
                                  row=True, typed="{id}"),
    "revoke an agent token": Deed("/tokens", "Revoke", "Revoke", _made("/agent-tokens"), _stored("/agent-tokens/{id}"),
                                  row=True, typed="{id}"),
    "switch a policy off": Deed("/policies?tenant=shop&q={id}", "off", "Turn off", _policy, _stored("/policies/{id}", "mode"),
                                after="off", row=True, undone=True),
    "switch a tenant off": Deed("/tenants", "Change", "Change the mode", _tenant, _stored("/modes/tenants/{id}", "mode"), after="off",
                                row=True, within=_choose("off"), undone=True),
    "switch the platform off": Deed("/tenants", "Change", "Change the mode", lambda _, name: name, _stored("/modes/global", "mode"),
                                    after="off", within=_choose("off"), typed="off", undone=True),
    "roll a policy out to fewer": Deed("/policies/{id}?tenant=shop", "100 % → 25 %", "Change the rollout", _policy,
                                       _stored("/policies/{id}", "rollout_percent"), after=25, before=_slide, undone=True),
    "roll a policy back": Deed("/policies/{id}?tenant=shop", "Roll back to this version", "Roll back", _policy_of_two_versions,
                               _stored("/policies/{id}", "priority"), before=_open_first_version, undone=True),
    "roll a plan back": Deed("/plans/{id}?tenant=shop", "Roll back to this version", "Roll back", _plan_of_two_versions,
                             _stored("/plans/{id}", "name"), after="{id}", before=_open_first_version, undone=True),
}


@pytest.fixture(scope="module")
def console(browser: Browser, shop: Shop) -> Iterator[Console]:
    """One tab for all, of a platform_admin."""
    tab = Console(browser, shop.server).open("/").sign_in(shop.server.token)
    yield tab
    tab.close()


@dataclass(frozen=True)
class Victim:
    """What a deed is done to."""

    deed: Deed
    name: str   # as its row shows it
    id: str
    stored: Callable[[], Any]

    def begin(self, console: Console) -> Any:
        """Opens the view and presses the button; the dialog that asks."""
        page = console.go(self.deed.path.format(id=self.id)).page
        if self.deed.before is not None:
            self.deed.before(page)
        place = page.get_by_role("row").filter(has_text=self.name) if self.deed.row else page.locator("main")
        place.get_by_role("button", name=self.deed.button, exact=True).first.click()
        return page.get_by_role("dialog")


@pytest.fixture
def victim(request: pytest.FixtureRequest, shop: Shop) -> Iterator[Victim]:
    """Of one of DEEDS."""
    deed = DEEDS[request.param]
    name = fresh_id("victim")
    with shop.admin() as admin:
        made = deed.prepare(admin, name)
        yield Victim(deed, name, made, lambda: deed.read(made)(admin))
        admin.put("/modes/global", {"mode": "enforce"})


@pytest.mark.parametrize("victim", DEEDS, indirect=True)
def test_nothing_is_destroyed_by_who_cancels(console: Console, victim: Victim) -> None:
    before = victim.stored()
    dialog = victim.begin(console)
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert victim.stored() == before


@pytest.mark.parametrize("victim", DEEDS, indirect=True)
def test_what_is_confirmed_is_destroyed_and_can_be_undone_where_there_is_a_way_back(console: Console, victim: Victim) -> None:
    deed, before = victim.deed, victim.stored()
    after = deed.after.format(id=victim.id) if isinstance(deed.after, str) else deed.after
    assert before != after
    dialog = victim.begin(console)
    if deed.within is not None:
        deed.within(dialog)
    go = dialog.get_by_role("button", name=deed.verb, exact=True)
    if deed.typed is not None:
        expect(go).to_be_disabled()
        dialog.get_by_role("textbox").fill("something else")
        expect(go).to_be_disabled()
        dialog.get_by_role("textbox").fill(deed.typed.format(id=victim.id))
    go.click()
    expect(dialog).to_have_count(0)
    wait_until("the deed", lambda: victim.stored() == after, SECONDS)
    said = console.page.locator(".toast").last
    undo = said.get_by_role("button", name="Undo")
    if not deed.undone:
        expect(said).to_contain_text("revoked")
        expect(undo).to_have_count(0)
        return
    undo.click()
    wait_until("all as before", lambda: victim.stored() == before, SECONDS)
