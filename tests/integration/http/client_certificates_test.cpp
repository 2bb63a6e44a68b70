// A listener that demands a certificate of its clients: whom it admits, whom it refuses, and what a renewed list of
// authorities changes.
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include <openssl/ssl.h>

#include "tests/integration/http/authority.hpp"
#include "tests/integration/http/harness.hpp"

namespace sluice::http::test {
namespace {

// A server that admits the clients of `authority`.
struct Guarded {
  Guarded() {
    folder.write("clients.crt", authority.certificate());
    auto loaded = ClientAuthorities::load(folder.path("clients.crt"));
    REQUIRE(loaded);
    clients = *loaded;
    rig.emplace(ServerOptions{}, clients);
  }

  // The server's answer, or how it ended: with TLS 1.3 a client learns that only when it reads.
  std::string ask(const PemPair& identity, int version = 0) {
    Client client(*rig, {.version = version, .identity = identity});
    const Code refused = client.shake_hands();
    return refused ? "refused: " + refused.message() : client.get("/a");
  }
  std::uint64_t failures() { return rig->server.stats().tls_failures; }

  Authority authority;
  Folder folder;
  std::shared_ptr<ClientAuthorities> clients;
  std::optional<Rig> rig;
};

constexpr const char* kAnswer = "/a 0 127.0.0.1";
constexpr const char* kNames = "DNS:client";

TEST_CASE("a client without a certificate, or with one of others, one that has expired or is a server's, is refused") {
  Guarded guarded;
  const Authority other("other", guarded.authority);
  const Authority impostor;  // has the name of ours, and another key
  struct Row {
    PemPair identity;
    const char* says;
  };
  const Row rows[] = {{{}, "certificate required"},
                      {other.issue(kNames), "unknown ca"},
                      {impostor.issue(kNames), "decrypt error"},
                      {make_pair("self-signed"), "unknown ca"},
                      {guarded.authority.issue(kNames, -60), "certificate expired"},
                      {guarded.authority.issue(kNames, 86'400, "serverAuth"), "unsupported certificate"}};
  std::uint64_t refused = 0;
  for (const Row& row : rows) {
    CAPTURE(row.says);
    const std::string answer = guarded.ask(row.identity);
    CHECK_MESSAGE(answer.find(row.says) != std::string::npos, answer);
    CHECK(guarded.ask(row.identity, TLS1_2_VERSION).starts_with("refused: "));
    refused += 2;
    REQUIRE(guarded.rig->until([&] { return guarded.failures() == refused; }));
  }
  CHECK(guarded.rig->handler.handled == 0);
  CHECK(guarded.rig->all_closed());
}

TEST_CASE("a client with a certificate of the authority is served, with each version of TLS") {
  Guarded guarded;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    CHECK(guarded.ask(guarded.authority.issue(kNames), version) == kAnswer);
    CHECK(guarded.ask(guarded.authority.issue(kNames, 86'400, "clientAuth"), version) == kAnswer);
  }
  CHECK(guarded.failures() == 0);
}

TEST_CASE("an authority may be one that another has signed, and then the other's clients are not admitted") {
  Guarded guarded;
  const Authority middle("middle", guarded.authority);
  PemPair chained = middle.issue(kNames);
  CHECK(guarded.ask(chained).find("unknown ca") != std::string::npos);  // the link is missing
  chained.certificate += middle.certificate();
  CHECK(guarded.ask(chained) == kAnswer);
  guarded.folder.write("clients.crt", middle.certificate());
  REQUIRE(guarded.clients->reload_if_changed() == true);
  CHECK(guarded.ask(middle.issue(kNames)) == kAnswer);
  CHECK(guarded.ask(guarded.authority.issue(kNames)) != kAnswer);
}

TEST_CASE("clients are told which authorities count, so that they can choose a certificate") {
  Guarded guarded;
  Client client(*guarded.rig);
  CHECK_FALSE(client.shake_hands());
  const STACK_OF(X509_NAME)* const names = SSL_get0_peer_CA_list(client.ssl());
  REQUIRE(sk_X509_NAME_num(names) == 1);
  char text[64] = "";
  X509_NAME_get_text_by_NID(sk_X509_NAME_value(names, 0), NID_commonName, text, sizeof text);
  CHECK(std::string(text) == "authority");
}

TEST_CASE("renewed authorities judge new connections, and connections that are there go on") {
  Guarded guarded;
  const Authority next("next", guarded.authority);
  const PemPair old_identity = guarded.authority.issue(kNames);
  const PemPair new_identity = next.issue(kNames);
  Client before(*guarded.rig, {.identity = old_identity});
  REQUIRE_FALSE(before.shake_hands());
  REQUIRE(before.get("/a") == kAnswer);
  CHECK(guarded.ask(new_identity) != kAnswer);
  guarded.folder.write("clients.crt", guarded.authority.certificate() + next.certificate());
  REQUIRE(guarded.clients->reload_if_changed() == true);
  CHECK(guarded.ask(old_identity) == kAnswer);
  CHECK(guarded.ask(new_identity) == kAnswer);
  guarded.folder.write("clients.crt", next.certificate());
  REQUIRE(guarded.clients->reload_if_changed() == true);
  CHECK(guarded.ask(old_identity) != kAnswer);
  CHECK(guarded.ask(new_identity) == kAnswer);
  CHECK(before.get("/a") == kAnswer);
}

TEST_CASE("a faulty list of authorities changes nothing") {
  Guarded guarded;
  guarded.folder.write("clients.crt", "no certificate");
  CHECK_FALSE(guarded.clients->reload_if_changed());
  CHECK(guarded.ask(guarded.authority.issue(kNames)) == kAnswer);
  CHECK(guarded.ask({}) != kAnswer);
}

TEST_CASE("authorities may be renewed by another thread while connections come") {
  Guarded guarded;
  std::atomic<bool> done = false;
  std::thread renewing([&] {
    for (int i = 0; !done; ++i) {
      guarded.folder.write("next.crt", guarded.authority.certificate() + std::to_string(i));
      std::filesystem::rename(guarded.folder.path("next.crt"), guarded.folder.path("clients.crt"));
      CHECK(guarded.clients->reload_if_changed() == true);
    }
  });
  for (int i = 0; i < 20; ++i) CHECK(guarded.ask(guarded.authority.issue(kNames)) == kAnswer);
  done = true;
  renewing.join();
}

TEST_CASE("no session is resumed, so that every connection shows a certificate") {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Guarded guarded;
    Client first(*guarded.rig, {.version = version, .identity = guarded.authority.issue(kNames)});
    REQUIRE_FALSE(first.shake_hands());
    REQUIRE(first.get("/a") == kAnswer);  // with TLS 1.3 a ticket would have come before
    SSL_SESSION* const session = SSL_get1_session(first.ssl());
    // With TLS 1.2 the client would offer the session's id, if the server had given it one.
    CHECK_FALSE(SSL_SESSION_is_resumable(session));
    Client second(*guarded.rig, {.version = version});
    SSL_set_session(second.ssl(), session);
    const Code refused = second.shake_hands();
    CHECK((refused || second.get("/a") != kAnswer));
    CHECK(SSL_session_reused(second.ssl()) == 0);
    SSL_SESSION_free(session);
  }
}

}  // namespace
}  // namespace sluice::http::test
