// Servers that die, lie or say too much: each is an error of its own, and the next request works.
#include "tests/integration/http/client_harness.hpp"

namespace sluice::http::test {
namespace {

const std::string kGood = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";

struct FaultRig {
  explicit FaultRig(const std::string& answer, bool then_close = true)
      : server(context, answer, then_close), asking(context, options()) {}
  ~FaultRig() {
    asking.cancel();
    context.restart();
    context.poll();
  }
  client::Options options() const {
    return {.server = *client::parse_url(server.url()), .head_timeout = 15s, .idle_timeout = 15s};
  }
  std::string ask(client::Request request = {}) { return text_of(asked(context, asking, std::move(request))); }

  asio::io_context context;
  Scripted server;
  client::Client asking;
};

TEST_CASE("a server that dies in the middle of an answer is a connection lost, and nothing is asked twice") {
  const std::string whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
  for (std::size_t size = 0; size < whole.size(); size += 5) {
    FaultRig rig(whole.substr(0, size));
    CHECK(rig.ask() == "disconnected");
    CHECK(rig.server.connections == 1);
    rig.server.answer_with(kGood);
    CHECK(rig.ask() == "good");
  }
}

TEST_CASE("answers that are too large, malformed or ambiguous end in their error and close the connection") {
  const std::pair<std::string, std::string> cases[] = {
      {"HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", "too_large"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n", "too_large"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "framing"},
      {"HTTP/1.1 200 OK\r\n\r\nuntil the end", "framing"},
      {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope", "encoding"},
  };
  for (const auto& [answer, code] : cases) {
    CAPTURE(answer.substr(0, 100));
    FaultRig rig(answer, false);
    CHECK(rig.ask() == code);
    rig.server.answer_with(kGood);
    CHECK(rig.ask() == "good");
    CHECK(rig.server.connections == 2);
  }
}

TEST_CASE("a kept connection that the server had closed costs a GET nothing, and a POST its error") {
  FaultRig rig(kGood, false);
  CHECK(rig.ask() == "good");
  CHECK(rig.ask() == "good");
  CHECK(rig.server.connections == 1);
  SUBCASE("closed while idle: noticed before the next request, whatever it is") {
    rig.server.close_all();
    rig.context.restart();
    while (rig.context.poll() > 0) {
    }
    CHECK(rig.ask({.method = "POST", .body = "x"}) == "good");
  }
  SUBCASE("closed when the request came: a GET is asked once more") {
    rig.server.hang_up_next = 1;
    CHECK(rig.ask() == "good");
    CHECK(rig.server.connections == 2);
  }
  SUBCASE("closed each time: twice is enough") {
    rig.server.hang_up_next = 100;
    CHECK(rig.ask() == "disconnected");
    CHECK(rig.server.connections == 2);
  }
  SUBCASE("a POST may have been acted on: it is not repeated") {
    rig.server.hang_up_next = 1;
    CHECK(rig.ask({.method = "POST", .body = "x"}) == "disconnected");
    CHECK(rig.server.connections == 1);
  }
}

TEST_CASE("a connection is not kept where the server does not want it, or has said more than it was asked") {
  FaultRig closing("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ngood", false);
  CHECK(closing.ask() == "good");
  CHECK(closing.ask() == "good");
  CHECK(closing.server.connections == 2);
  FaultRig chatty(kGood + kGood, false);
  CHECK(chatty.ask() == "good");
  CHECK(chatty.ask() == "good");
  CHECK(chatty.server.connections == 2);
}

TEST_CASE("where nobody listens is told at once, and by name") {
  asio::io_context context;
  const Folder folder;
  const auto code_at = [&](const std::string& url) {
    client::Client asking(context, {.server = *client::parse_url(url)});
    return text_of(asked(context, asking, {}));
  };
  std::string closed;
  {
    const Scripted gone(context, "", true);
    closed = gone.url();
  }
  CHECK(code_at(closed) == "refused");
  CHECK(code_at("unix:" + folder.path("none")) == "refused");
  CHECK(code_at("http://no-such-host.invalid:80") == "resolve");
}

TEST_CASE("a handshake that never ends is given up in time") {
  asio::io_context context;
  tcp::acceptor silent(context, {asio::ip::make_address("127.0.0.1"), 0});  // the kernel accepts, nobody answers
  client::Client asking(
      context, {.server = *client::parse_url("https://127.0.0.1:" + std::to_string(silent.local_endpoint().port())),
                .connect_timeout = 300ms});
  const auto result = asked(context, asking, {});
  CHECK(text_of(result) == "timeout");
  CHECK(result.error().text.find("in the TLS handshake") != std::string::npos);
}

TEST_CASE("what cannot be sent is refused without a connection, and not from inside the call") {
  FaultRig rig(kGood);
  CHECK(rig.ask({.target = "/a b"}) == "request");
  CHECK(rig.server.connections == 0);
}

TEST_CASE("a token is in no error's text") {
  FaultRig rig("HTTP/1.1 200 OK\r\n\r\n");
  const auto result = asked(rig.context, rig.asking, {.target = "/a?key=hidden", .bearer = "secret"});
  REQUIRE_FALSE(result);
  CHECK(rig.server.got.find("Authorization: Bearer secret\r\n") != std::string::npos);
  CHECK(result.error().text.find("secret") == std::string::npos);
  CHECK(result.error().text.find("hidden") == std::string::npos);
  CHECK(result.error().text.starts_with("GET /a of " + rig.server.url() + ": "));
}

}  // namespace
}  // namespace sluice::http::test
