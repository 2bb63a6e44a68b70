"""HTTP framing: what the agent refuses (400 and close), what it must read, and what may never be answered twice."""

import pytest

from support.agent import Agent
from support.bundle import MintedKey
from support.client import Client, fresh_subject
from support.raw import RawConnection, check_request

pytestmark = pytest.mark.fault("framing-attacks")
BODY = b'{"plan_id":"bucket","subject":"framing","cost":0}'
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


def assert_refused_and_closed(agent: Agent, data: bytes) -> None:
    """400, then the end: nothing after the bad request is read as another one."""
    with RawConnection(agent.port) as raw:
        raw.send(data)
        reply = raw.reply()
        assert reply is not None and reply.status == 400, reply
        assert reply.headers.get("connection", "").lower() == "close"
        assert reply.headers["content-type"].startswith("application/problem+json")
        assert raw.closed()


@pytest.mark.parametrize("coding", [b"gzip, chunked", b"chunked, gzip", b"identity", b"chunked, chunked", b"xchunked",
                                    b"chunkedx", b"Chunked;q=1", b"", b"\x0bchunked"])
def test_a_transfer_encoding_other_than_chunked_is_refused(agent: Agent, key: MintedKey, coding: bytes) -> None:
    extra = b"Transfer-Encoding: " + coding + b"\r\n"
    assert_refused_and_closed(agent, check_request(key.text, CHUNKED, extra, length=False))


def test_two_transfer_encodings_are_refused(agent: Agent, key: MintedKey) -> None:
    extra = b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"
    assert_refused_and_closed(agent, check_request(key.text, CHUNKED, extra, length=False))


def test_transfer_encoding_with_http_1_0_is_refused(agent: Agent, key: MintedKey) -> None:
    extra = b"Transfer-Encoding: chunked\r\n"
    assert_refused_and_closed(agent, check_request(key.text, CHUNKED, extra, version=b"HTTP/1.0", length=False))


def test_transfer_encoding_with_content_length_is_refused(agent: Agent, key: MintedKey) -> None:
    assert_refused_and_closed(agent, check_request(key.text, CHUNKED, b"Transfer-Encoding: chunked\r\n"))


def test_trailers_are_refused(agent: Agent, key: MintedKey) -> None:
    body = b"%x\r\n%s\r\n0\r\nx-api-key: other\r\n\r\n" % (len(BODY), BODY)
    assert_refused_and_closed(agent, check_request(key.text, body, b"Transfer-Encoding: chunked\r\n", length=False))


@pytest.mark.parametrize("host", [b"", b"Host: a\r\nHost: b\r\n", b"Host: a\r\nHost: a\r\n"])
def test_none_or_several_hosts_are_refused(agent: Agent, key: MintedKey, host: bytes) -> None:
    assert_refused_and_closed(agent, check_request(key.text, BODY, host=host))


@pytest.mark.parametrize("fold", [b"X-A: one\r\n two\r\n", b"X-A: one\r\n\ttwo\r\n", b" X-A: one\r\n"])
def test_folded_headers_are_refused(agent: Agent, key: MintedKey, fold: bytes) -> None:
    assert_refused_and_closed(agent, check_request(key.text, BODY, fold))


@pytest.mark.parametrize("line", [b"X_Api: a\r\n", b"x_api_key: b\r\n", b"Content_Length: 5\r\n"])
def test_names_with_underscores_are_refused(agent: Agent, key: MintedKey, line: bytes) -> None:
    assert_refused_and_closed(agent, check_request(key.text, BODY, line))


@pytest.mark.parametrize("line", [b"Content-Length: 5\r\n", b"Content-Length: +49\r\n", b"Content-Length: 49, 49\r\n"])
def test_contradicting_lengths_are_refused(agent: Agent, key: MintedKey, line: bytes) -> None:
    assert_refused_and_closed(agent, check_request(key.text, BODY, line))


@pytest.mark.parametrize("length", [b"-1", b"0x31", b"4 9", b"", b"abc", b"99999999999999999999999"])
def test_a_length_that_is_no_number_is_refused(agent: Agent, key: MintedKey, length: bytes) -> None:
    extra = b"Content-Length: " + length + b"\r\n"
    with RawConnection(agent.port) as raw:
        raw.send(check_request(key.text, BODY, extra, length=False))
        reply = raw.reply()
        assert reply is not None and reply.status in (400, 413)
        assert raw.closed()


@pytest.mark.parametrize("line", [b"X-A : one\r\n", b": nameless\r\n", b"no colon\r\n", b"X-\x00: a\r\n", b"X-A: a\x00b\r\n",
                                  b"X A: one\r\n", b"X-\xe9: a\r\n"])
def test_header_lines_that_are_none_are_refused(agent: Agent, key: MintedKey, line: bytes) -> None:
    assert_refused_and_closed(agent, check_request(key.text, BODY, line))


@pytest.mark.parametrize("line", [b"GET\r\n\r\n", b"POST /v1/check\r\n\r\n", b"POST /v1/check FTP/1.1\r\nHost: x\r\n\r\n",
                                  b"POST  /v1/check HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
                                  b"POST /v1/ch\x00eck HTTP/1.1\r\nHost: x\r\n\r\n", b"{}\r\n\r\n"])
def test_request_lines_that_are_none_are_refused(agent: Agent, line: bytes) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(line)
        reply = raw.reply()
        assert reply is not None and reply.status == 400
        assert raw.closed()


@pytest.mark.parametrize("version", [b"HTTP/9.9", b"HTTP/2.0"])
def test_another_version_of_http_is_505(agent: Agent, key: MintedKey, version: bytes) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(check_request(key.text, BODY, version=version))
        reply = raw.reply()
        assert reply is not None and reply.status == 505
        assert raw.closed()


@pytest.mark.parametrize("chunks", [b"zz\r\nabc\r\n0\r\n\r\n", b"-5\r\nabc\r\n0\r\n\r\n", b"3\r\nabcd\r\n0\r\n\r\n",
                                    b"ffffffffffffffffff\r\nabc\r\n0\r\n\r\n"])
def test_chunks_that_are_none_are_refused(agent: Agent, key: MintedKey, chunks: bytes) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(check_request(key.text, chunks, b"Transfer-Encoding: chunked\r\n", length=False))
        reply = raw.reply()
        assert reply is not None and reply.status in (400, 413)
        assert raw.closed()


def test_a_request_hidden_behind_a_refused_one_is_never_answered(agent: Agent, key: MintedKey) -> None:
    hidden = check_request(key.text, BODY)
    first = check_request(key.text, b"0\r\n\r\n", b"Transfer-Encoding: chunked\r\n")
    with RawConnection(agent.port) as raw:
        raw.send(first + hidden)
        reply = raw.reply()
        assert reply is not None and reply.status == 400
        assert raw.closed()


def test_a_chunked_body_is_read(agent: Agent, key: MintedKey) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"
    with RawConnection(agent.port) as raw:
        for _ in range(2):
            raw.send(check_request(key.text, chunks, b"Transfer-Encoding: chunked\r\n", length=False))
            reply = raw.reply()
            assert reply is not None and reply.status == 200
            assert reply.json()["plan_id"] == "bucket"


def test_a_request_that_comes_byte_by_byte_is_read(agent: Agent, key: MintedKey) -> None:
    with RawConnection(agent.port) as raw:
        for byte in check_request(key.text, BODY):
            raw.send(bytes([byte]))
        reply = raw.reply()
        assert reply is not None and reply.status == 200


def test_pipelined_requests_are_answered_in_order(agent: Agent, key: MintedKey) -> None:
    prefix = fresh_subject()
    bodies = [b'{"plan_id":"bucket","subject":"%s","cost":1,"request_id":"r%d"}' % (f"{prefix}.{i}".encode(), i)
              for i in range(100)]
    with RawConnection(agent.port) as raw:
        raw.send(b"".join(check_request(key.text, body) for body in bodies))
        for number in range(100):
            reply = raw.reply()
            assert reply is not None and reply.status == 200
            assert reply.json()["request_id"] == f"r{number}"


def test_a_bad_body_between_good_ones_in_a_pipeline_gets_its_own_answer(agent: Agent, key: MintedKey) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(check_request(key.text, BODY) + check_request(key.text, b"{nonsense") + check_request(key.text, BODY))
        replies = [raw.reply() for _ in range(3)]
    assert [reply and reply.status for reply in replies] == [200, 400, 200]


def test_http_1_0_is_answered_and_closed(agent: Agent, key: MintedKey) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(check_request(key.text, BODY, version=b"HTTP/1.0"))
        reply = raw.reply()
        assert reply is not None and reply.status == 200
        assert raw.closed()


def test_connection_close_is_honoured(agent: Agent, key: MintedKey) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(check_request(key.text, BODY, b"Connection: close\r\n"))
        reply = raw.reply()
        assert reply is not None and reply.status == 200
        assert raw.closed()


def test_a_client_that_stops_sending_still_gets_its_answer(agent: Agent, key: MintedKey) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(check_request(key.text, BODY))
        raw.finish_sending()
        reply = raw.reply()
        assert reply is not None and reply.status == 200


def test_header_names_are_read_in_any_case(client: Client) -> None:
    answer = client.request("POST", "/v1/check", BODY, {"X-API-KEY": client.key, "CONTENT-TYPE": "application/json"})
    assert answer.status == 200


@pytest.mark.fault("header-injection")
def test_a_value_from_the_body_cannot_add_a_header(client: Client) -> None:
    answer = client.check(plan_id="bucket", subject="a\r\nX-Evil: 1", request_id="r\r\nX-Evil: 1", cost=0)
    assert answer.header("x-evil") is None
    assert answer.status == 200
