// What the client gets from our server, over TCP, TLS and a Unix socket.
#include "tests/integration/http/client_harness.hpp"

namespace sluice::http::test {
namespace {

TEST_CASE("requests of one client are served on one connection, over every transport") {
  for (const Over transport : {Over::tcp, Over::unix_socket, Over::tls}) {
    ClientRig rig(transport);
    client::Client asking(rig.context, rig.options());
    for (int i = 0; i < 3; ++i) {
      const std::string body = "body " + std::to_string(i);
      CHECK(text_of(asked(rig.context, asking, {.method = "POST", .target = "/a", .bearer = "t", .body = body})) ==
            body);
    }
    CHECK(rig.site.authorization == "Bearer t");
    CHECK(asking.connects() == 1);
    CHECK(rig.server.stats().accepted == 1);
    asking.close_idle();
    REQUIRE(rig.until([&] { return rig.server.stats().open_connections == 0; }));
    CHECK(text_of(asked(rig.context, asking, {.method = "POST", .target = "/a", .body = "again"})) == "again");
    CHECK(asking.connects() == 2);
  }
}

TEST_CASE("a shared body comes whole, packed, to many at once") {
  for (const Over transport : {Over::tcp, Over::unix_socket, Over::tls}) {
    ClientRig rig(transport);
    std::vector<std::unique_ptr<client::Client>> many;
    int whole = 0;
    for (int i = 0; i < 20; ++i) {
      many.push_back(std::make_unique<client::Client>(rig.context, rig.options()));
      many.back()->send({.target = "/snapshot", .max_body = 3'000'000}, [&](const Result<client::Response>& result) {
        whole += result && result->body == *rig.site.plain ? 1 : 0;
      });
    }
    CHECK(rig.until([&] { return whole == 20; }));
    CHECK(rig.site.packed.use_count() == 1);
    client::Client small(rig.context, rig.options());
    CHECK(text_of(asked(rig.context, small, {.target = "/snapshot", .max_body = 2'999'999})) == "too_large");
  }
}

TEST_CASE("a large request and a refusal before it is all sent") {
  ClientRig rig;
  client::Client asking(rig.context, rig.options());
  const std::string body(3'000'000, 'x');
  const auto result =
      asked(rig.context, asking, {.method = "POST", .target = "/a", .body = body, .max_body = 4'000'000});
  CHECK(text_of(result) == body);
  const auto refused =
      asked(rig.context, asking, {.method = "POST", .target = "/a", .body = std::string(5'000'000, 'x')});
  REQUIRE(refused);
  CHECK(refused->status == 413);
  CHECK(text_of(asked(rig.context, asking, {.method = "POST", .target = "/a", .body = "next"})) == "next");
}

TEST_CASE("lines of a stream come as they are written, and its end is told") {
  for (const Over transport : {Over::tcp, Over::unix_socket, Over::tls}) {
    ClientRig rig(transport);
    client::Client watching(rig.context, rig.options());
    std::vector<std::string> lines;
    std::optional<Result<client::Response>> end;
    watching.send({.target = "/watch", .on_line = [&](std::string_view line) { lines.emplace_back(line); }},
                  [&](Result<client::Response> result) { end = std::move(result); });
    REQUIRE(rig.until([&] { return rig.site.stream.open(); }));
    CHECK(rig.site.stream.write("one\n"));
    REQUIRE(rig.until([&] { return lines.size() == 1; }));
    CHECK(rig.site.stream.write("two\nthr"));
    REQUIRE(rig.until([&] { return lines.size() == 2; }));
    CHECK(rig.site.stream.write("ee\n"));
    REQUIRE(rig.until([&] { return lines.size() == 3; }));
    CHECK(lines == std::vector<std::string>{"one", "two", "three"});
    CHECK_FALSE(end);
    rig.site.stream.finish();
    REQUIRE(rig.until([&] { return end.has_value(); }));
    REQUIRE(*end);
    CHECK((*end)->status == 200);
    CHECK(text_of(asked(rig.context, watching, {.method = "POST", .target = "/a", .body = "b"})) == "b");
    CHECK(watching.connects() == 1);
  }
}

TEST_CASE("a stream that its server drops, or that is drained, is told apart") {
  for (const bool drains : {true, false}) {
    ClientRig rig(Over::tls);
    client::Client watching(rig.context, rig.options());
    std::optional<Result<client::Response>> end;
    watching.send({.target = "/watch", .on_line = [](std::string_view) {}},
                  [&](Result<client::Response> result) { end = std::move(result); });
    REQUIRE(rig.until([&] { return rig.site.stream.open(); }));
    bool drained = false;
    if (drains) {
      rig.server.drain([&] { drained = true; });
    } else {
      rig.site.stream = {};
    }
    REQUIRE(rig.until([&] { return end.has_value(); }));
    CHECK(end->has_value() == drains);
    if (!drains) CHECK(end->error().code == "disconnected");
    if (drains) CHECK(rig.until([&] { return drained; }));
    CHECK(rig.site.ends == (drains ? 1 : 0));
  }
}

TEST_CASE("a client that stops watching is noticed by the stream's writer, on every transport") {
  for (const Over transport : {Over::tcp, Over::unix_socket, Over::tls}) {
    ClientRig rig(transport);
    client::Client watching(rig.context, rig.options());
    bool told = false;
    watching.send({.target = "/watch", .on_line = [&](std::string_view) { watching.cancel(); }},
                  [&](const Result<client::Response>&) { told = true; });
    REQUIRE(rig.until([&] { return rig.site.stream.open(); }));
    CHECK(rig.site.stream.write("one\ntwo\n"));
    CHECK(rig.until([&] { return rig.site.ends == 1; }));
    CHECK_FALSE(told);
    CHECK_FALSE(watching.busy());
    CHECK(rig.server.stats().open_streams == 0);
  }
}

TEST_CASE("a line may destroy its client, and an answer too") {
  ClientRig rig;
  auto watching = std::make_unique<client::Client>(rig.context, rig.options());
  watching->send({.target = "/watch", .on_line = [&](std::string_view) { watching.reset(); }},
                 [](const Result<client::Response>&) { FAIL("told after its end"); });
  REQUIRE(rig.until([&] { return rig.site.stream.open(); }));
  CHECK(rig.site.stream.write("one\ntwo\n"));
  CHECK(rig.until([&] { return rig.site.ends == 1; }));
  auto asking = std::make_unique<client::Client>(rig.context, rig.options());
  asking->send({.target = "/a"}, [&](const Result<client::Response>&) { asking.reset(); });
  CHECK(rig.until([&] { return asking == nullptr; }));
}

TEST_CASE("a server that accepts and is silent is given up in time, at each stage of a request") {
  ClientRig rig;
  const auto ask_with = [&](auto limit, client::Request request) {
    auto options = rig.options();
    options.*limit = 60ms;
    client::Client asking(rig.context, options);
    return asked(rig.context, asking, std::move(request));
  };
  const auto silent = ask_with(&client::Options::head_timeout, {.target = "/never"});
  CHECK(text_of(silent) == "timeout");
  CHECK(silent.error().text.find("before the response's head was complete") != std::string::npos);
  const client::Request watch{.target = "/watch", .on_line = [](std::string_view) {}};
  const auto stalled = ask_with(&client::Options::idle_timeout, watch);
  CHECK(stalled.error().text.find("in the middle of the body") != std::string::npos);
  CHECK(rig.until([&] { return rig.site.ends == 1; }));
}

TEST_CASE("nobody is told of a request that was cancelled, and the next one works") {
  ClientRig rig;
  client::Client asking(rig.context, rig.options());
  bool told = false;
  asking.send({.target = "/never"}, [&](const Result<client::Response>&) { told = true; });
  asking.cancel();  // before it connected
  asking.send({.target = "/never"}, [&](const Result<client::Response>&) { told = true; });
  REQUIRE(rig.until([&] { return rig.site.waiting.size() == 1; }));
  asking.cancel();
  CHECK(text_of(asked(rig.context, asking, {.method = "POST", .target = "/a", .body = "on"})) == "on");
  CHECK_FALSE(told);
}

TEST_CASE("a server's certificate must be from the authority, in time, and of the host's name") {
  ClientRig rig(Over::tls);
  const auto result_at = [&](const std::string& url, const std::string& ca) {
    auto options = rig.options();
    options.server = *client::parse_url(url);
    options.tls.ca = ca;
    client::Client asking(rig.context, options);
    auto result = asked(rig.context, asking, {.method = "POST", .target = "/a", .body = "b"});
    return result ? result->body : result.error().code + ": " + result.error().text;
  };
  const std::string ca = rig.folder.path("ca.crt");
  const std::string by_name = "https://localhost:" + std::to_string(rig.port);
  CHECK(result_at(rig.url, ca) == "b");
  CHECK(result_at(by_name, ca) == "b");
  CHECK(result_at(by_name, "").starts_with("tls: "));  // the system knows nothing of it
  CHECK(result_at(by_name, rig.folder.path("none")).starts_with("tls: "));

  const Authority other;
  rig.folder.write("other.crt", other.certificate());
  CHECK(result_at(by_name, rig.folder.path("other.crt")).starts_with("tls: "));

  rig.listen_tls(rig.authority.issue("DNS:elsewhere"));
  CHECK(result_at(rig.url, ca).starts_with("tls: "));
  CHECK(result_at("https://localhost:" + std::to_string(rig.port), ca).starts_with("tls: "));

  rig.listen_tls(rig.authority.issue("IP:127.0.0.1", -60));
  CHECK(result_at(rig.url, ca).find("expired") != std::string::npos);

  const Authority expired(-60);
  rig.folder.write("expired.crt", expired.certificate());
  rig.listen_tls(expired.issue("IP:127.0.0.1"));
  CHECK(result_at(rig.url, rig.folder.path("expired.crt")).find("expired") != std::string::npos);
  CHECK(rig.site.handled == 2);
}

TEST_CASE("a client presents its certificate, read anew at each connect, and asks nobody for a passphrase") {
  ClientRig rig(Over::tls);
  rig.folder.write("clients.crt", rig.authority.certificate());
  const auto clients = ClientAuthorities::load(rig.folder.path("clients.crt"));
  REQUIRE(clients);
  rig.listen_tls(rig.authority.issue("IP:127.0.0.1"), *clients);
  const PemPair identity = rig.authority.issue("DNS:client");
  auto options = rig.options();
  options.tls.ca = rig.folder.path("ca.crt");
  const auto ask = [&](client::Client& asking) {
    auto result = asked(rig.context, asking, {.method = "POST", .target = "/a", .body = "b"});
    asking.close_idle();
    return result ? result->body : result.error().code + ": " + result.error().text;
  };
  client::Client without(rig.context, options);
  CHECK(ask(without).find("certificate required") != std::string::npos);

  options.tls.chain = rig.folder.path("client.crt");
  options.tls.key = rig.folder.path("client.key");
  client::Client with(rig.context, options);
  rig.folder.write("client.crt", identity.certificate);
  rig.folder.write("client.key", encrypted(identity.key));
  CHECK(ask(with).find("the client key " + options.tls.key + " cannot be used") != std::string::npos);
  rig.folder.write("client.key", identity.key);
  CHECK(ask(with) == "b");
  const PemPair next = rig.authority.issue("DNS:client");
  rig.folder.write("client.crt", next.certificate);
  CHECK(ask(with).find("key values mismatch") != std::string::npos);  // until the other file is there too
  rig.folder.write("client.key", next.key);
  CHECK(ask(with) == "b");
  CHECK(rig.site.handled == 2);
}

}  // namespace
}  // namespace sluice::http::test
