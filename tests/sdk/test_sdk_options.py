"""Options and their variables (sdk/CONTRACT.md, Configuration)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sdk.adapter import Adapter, ClientUnderTest
from sdk.rogue import Rogue, reply, silence

SECRET = "slk_test_ThisIsASecret0123456789"
Start = Callable[..., Adapter]
MakeRogue = Callable[..., Rogue]
MakeClient = Callable[..., ClientUnderTest]


def test_without_anything_the_client_asks_the_port_that_injected_agents_have(adapter: Adapter) -> None:
    try:
        rogue = Rogue(port=8088)
    except OSError:
        pytest.skip("another program has port 8088")
    try:
        assert ClientUnderTest(adapter, timeout_ms=10_000).check(subject="a")["decided"]
        assert len(rogue.requests) == 1
    finally:
        rogue.close()


def test_the_first_that_is_set_decides_where_the_agent_is(start_adapter: Start, make_rogue: MakeRogue) -> None:
    by_option, by_url, by_socket, by_socket_option = make_rogue(), make_rogue(), make_rogue(socket=True), make_rogue(socket=True)
    both = start_adapter(SLUICE_URL=by_url.url, SLUICE_SOCKET=by_socket.url.removeprefix("unix://"), SLUICE_TIMEOUT="10s")
    only_url = start_adapter(SLUICE_URL=by_url.url, SLUICE_SOCKET="", SLUICE_TIMEOUT="10s")
    for adapter, options, expected in (
            (both, {}, by_socket), (both, {"url": by_option.url}, by_option),
            (both, {"socket": by_socket_option.url.removeprefix("unix://")}, by_socket_option),
            (both, {"url": by_socket_option.url}, by_socket_option), (only_url, {}, by_url)):
        before = len(expected.requests)
        ClientUnderTest(adapter, **options).check(subject="a")
        assert len(expected.requests) == before + 1, options


def test_a_url_may_name_a_socket_in_the_variable_too(start_adapter: Start, make_rogue: MakeRogue) -> None:
    rogue = make_rogue(socket=True)
    assert ClientUnderTest(start_adapter(SLUICE_URL=rogue.url, SLUICE_TIMEOUT="10s")).check(subject="a")["decided"]


def test_making_a_client_opens_no_connection(make_client: MakeClient, rogue: Rogue, make_rogue: MakeRogue) -> None:
    make_client(rogue)
    other = make_client(make_rogue())
    other.check(subject="a")   # so that a connection of the first would have arrived by now
    assert rogue.connections == 0


def test_an_api_key_as_option_wins_over_the_variables_and_the_text_over_the_file(
        start_adapter: Start, rogue: Rogue, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from-file\n")
    (tmp_path / "other").write_text("from-option-file")
    both = start_adapter(SLUICE_API_KEY="from-text", SLUICE_API_KEY_FILE=str(tmp_path / "key"), SLUICE_TIMEOUT="10s")
    only_file = start_adapter(SLUICE_API_KEY="", SLUICE_API_KEY_FILE=str(tmp_path / "key"), SLUICE_TIMEOUT="10s")
    for adapter, options, expected in ((both, {}, "from-text"), (both, {"api_key": "from-option"}, "from-option"),
                                       (both, {"api_key_file": str(tmp_path / "other")}, "from-option-file"),
                                       (only_file, {}, "from-file")):
        ClientUnderTest(adapter, url=rogue.url, **options).check(subject="a")
        assert rogue.requests[-1].headers["x-api-key"] == expected


def test_without_a_key_the_call_has_none(make_client: MakeClient, rogue: Rogue) -> None:
    assert make_client(rogue).check(subject="a")["decided"]
    assert "x-api-key" not in rogue.requests[-1].headers


def test_a_key_file_is_read_at_the_first_call_and_again_after_401(make_client: MakeClient, rogue: Rogue, tmp_path: Path) -> None:
    file = tmp_path / "key"
    client = make_client(rogue, api_key_file=str(file))
    file.write_text("  first \n")
    client.check(subject="a")
    file.write_text("second\n")
    client.check(subject="a")
    rogue.then(reply(401, {"status": 401, "code": "unknown"}))
    assert client.check(subject="a")["decided"]
    client.check(subject="a")
    assert [seen.headers["x-api-key"] for seen in rogue.requests] == ["first", "first", "first", "second", "second"]
    assert {seen.connection for seen in rogue.requests} == {1}


def test_after_401_with_the_same_key_the_call_is_not_repeated(make_client: MakeClient, rogue: Rogue, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("same")
    refused = reply(401, {"status": 401, "code": "unknown", "detail": "no such key"})
    for options in ({"api_key": "same"}, {"api_key_file": str(tmp_path / "key")}):
        before = len(rogue.requests)
        decision = make_client(rogue.then(refused), **options).check(subject="a")
        assert (decision["error"]["kind"], decision["error"]["status"]) == ("refused", 401)
        assert len(rogue.requests) == before + 1


def test_after_a_second_401_the_call_ends(make_client: MakeClient, rogue: Rogue, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("first")
    client = make_client(rogue, api_key_file=str(file))
    client.check(subject="a")
    file.write_text("second")
    rogue.then(*[reply(401, {"status": 401, "code": "unknown"})] * 3)
    assert client.check(subject="a")["error"]["kind"] == "refused"
    assert len(rogue.requests) == 3


def test_a_key_file_that_is_not_there_refuses_checks_until_it_is(make_client: MakeClient, rogue: Rogue, tmp_path: Path) -> None:
    file = tmp_path / "key"
    client = make_client(rogue, api_key_file=str(file), on_error="deny")
    decision = client.check(subject="a")
    assert (decision["allowed"], decision["error"]["kind"], decision["status"]) == (False, "refused", 0)
    assert str(file) in decision["error"]["message"]
    file.write_text("there")
    assert client.check(subject="a")["decided"]


@pytest.mark.parametrize("options, named", [
    ({"url": "http://127.0.0.1:1", "socket": "/tmp/agent.sock"}, "socket"),
    ({"api_key": "a", "api_key_file": "b"}, "api_key"),
    ({"url": "ftp://127.0.0.1"}, "url"),
    ({"url": "127.0.0.1:8088"}, "url"),
    ({"url": "http://"}, "url"),
    ({"url": "http://127.0.0.1:99999"}, "url"),
    ({"url": "http://127.0.0.1:1/path"}, "url"),
    ({"url": "http://127.0.0.1:1/?a=b"}, "url"),
    ({"url": "unix://relative"}, "url"),
    ({"timeout_ms": 0}, "timeout"),
    ({"timeout_ms": -5}, "timeout"),
    ({"on_error": "maybe"}, "on_error"),
    ({"max_connections": 0}, "max_connections"),
])
def test_a_wrong_option_is_an_error_when_the_client_is_made(adapter: Adapter, options: dict[str, Any], named: str) -> None:
    answer = adapter.ask("new", client="wrong", options=options)
    assert answer.get("raised", {}).get("kind") == "misuse", answer
    message = answer["raised"]["message"].lower().replace("_", "")
    assert named.replace("_", "") in message, answer


@pytest.mark.parametrize("name, text", [
    ("SLUICE_URL", "ftp://agent"), ("SLUICE_TIMEOUT", "5"), ("SLUICE_TIMEOUT", "fast"), ("SLUICE_TIMEOUT", "0ms"),
    ("SLUICE_TIMEOUT", "5 s"), ("SLUICE_TIMEOUT", "-5ms"), ("SLUICE_ON_ERROR", "fail"),
])
def test_a_wrong_variable_is_named_with_what_it_holds(start_adapter: Start, name: str, text: str) -> None:
    answer = start_adapter(**{name: text}).ask("new", client="wrong", options={})
    assert answer.get("raised", {}).get("kind") == "misuse", answer
    assert name in answer["raised"]["message"] and text in answer["raised"]["message"]


def test_timeout_and_on_error_come_from_variables_and_options_win(start_adapter: Start, rogue: Rogue) -> None:
    adapter = start_adapter(SLUICE_URL=rogue.url, SLUICE_TIMEOUT="0.3s", SLUICE_ON_ERROR="deny")
    rogue.default = silence
    seconds, decision = ClientUnderTest(adapter).elapsed_and_check(subject="a")
    assert (decision["allowed"], decision["error"]["kind"]) == (False, "timeout")
    assert 0.29 < seconds < 5
    seconds, decision = ClientUnderTest(adapter, timeout_ms=50, on_error="allow").elapsed_and_check(subject="a")
    assert (decision["allowed"], decision["error"]["kind"]) == (True, "timeout")
    assert 0.049 < seconds < 5


def test_the_default_timeout_is_50_ms_and_errors_allow(adapter: Adapter, rogue: Rogue) -> None:
    rogue.default = silence
    seconds, decision = ClientUnderTest(adapter, url=rogue.url).elapsed_and_check(subject="a")
    assert (decision["allowed"], decision["decided"], decision["error"]["kind"]) == (True, False, "timeout")
    assert 0.049 < seconds < 2


def test_the_api_key_is_in_no_text(start_adapter: Start, rogue: Rogue, tmp_path: Path) -> None:
    adapter = start_adapter(SLUICE_API_KEY=SECRET)
    (tmp_path / "key").write_text(SECRET)
    rogue.default = reply(401, {"status": 401, "code": "unknown", "detail": "there is no such key"})
    texts = []
    for options in ({}, {"api_key": SECRET}, {"api_key_file": str(tmp_path / "key")}):
        client = ClientUnderTest(adapter, url=rogue.url, timeout_ms=10_000, on_error="raise", **options)
        texts += [adapter.ask("describe", client=client.name)["text"], str(client.raised(check={"subject": "a"}))]
    texts.append(str(adapter.ask("new", client="wrong", options={"api_key": SECRET + " \n", "url": rogue.url})))
    texts.append(str(adapter.ask("new", client="wrong", options={"api_key": SECRET, "on_error": "maybe"})))
    texts.append(str(adapter.ask("new", client="wrong", options={"url": f"http://user:{SECRET}@127.0.0.1:1"})))
    texts.append(adapter.output())
    assert rogue.requests[-1].headers["x-api-key"] == SECRET
    assert all(text for text in texts)
    assert not [text for text in texts if SECRET in text]


def test_proxies_of_the_environment_are_not_used(start_adapter: Start, make_rogue: MakeRogue) -> None:
    agent, proxy = make_rogue(), make_rogue()
    adapter = start_adapter(HTTP_PROXY=proxy.url, http_proxy=proxy.url, ALL_PROXY=proxy.url, HTTPS_PROXY=proxy.url)
    assert ClientUnderTest(adapter, url=agent.url, timeout_ms=10_000).check(subject="a")["decided"]
    assert (len(agent.requests), proxy.connections) == (1, 0)
