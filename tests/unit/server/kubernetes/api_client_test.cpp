// Requests to an API server that does as it is told, on one loop.
#include <doctest/doctest.h>

#include <deque>
#include <filesystem>
#include <memory>
#include <optional>

#include "common/http/server.hpp"
#include "server/kubernetes/api_client.hpp"
#include "tests/unit/http/certificate_maker.hpp"
#include "tests/unit/program/invocation.hpp"

namespace sluice::server::kubernetes {
namespace {

using namespace std::chrono_literals;

// Keeps what it is asked until it is told to answer; "/now" it answers at once.
struct Site final : sluice::http::Handler {
  std::size_t body_limit(std::string_view, std::string_view) const override { return 100'000; }
  void handle(sluice::http::Request& request, sluice::http::Reply reply) override {
    asked.push_back(std::string(request.method) + " " + std::string(request.path) + " " +
                    std::string(request.header("authorization")) + " " + std::string(request.header("content-type")) +
                    " " + std::string(request.body.data(), request.body.size()));
    if (request.path == "/now") return reply.send({.status = 201, .body = "now"});
    waiting.push_back(std::move(reply));
  }
  std::vector<std::string> asked;
  std::deque<sluice::http::Reply> waiting;
};

struct Rig {
  explicit Rig(std::size_t connections = 2, std::size_t waiting = 3) : server(loop, {}, site) {
    const auto port = server.listen_tcp("127.0.0.1:0", false);
    REQUIRE(port);
    folder.write("token", "first\n");
    client.emplace(loop, ApiOptions{.server = {{.host = "127.0.0.1", .port = *port}},
                                    .token_file = folder.path("token"),
                                    .connections = connections,
                                    .max_waiting = waiting});
  }
  ~Rig() {
    client.reset();
    site.waiting.clear();
    server.close_all();
    loop.restart();
    loop.poll();
  }
  template <class Condition>
  bool until(Condition done) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      loop.restart();
      loop.run_one_for(10ms);
    }
    return true;
  }
  void ask(const std::string& path, std::chrono::milliseconds deadline = 20s) {
    client->send("POST", path, "{}", deadline, [this, path](Result<ApiResponse> result) {
      told.push_back(path + " " + (result ? std::to_string(result->status) + result->body : result.error().code));
    });
  }

  sluice::http::Folder folder;
  boost::asio::io_context loop;
  Site site;
  sluice::http::Server server;
  std::optional<ApiClient> client;
  std::vector<std::string> told;
};

TEST_CASE("a request carries the token as it is in the file now, and its answer comes from the loop") {
  Rig rig;
  rig.ask("/now");
  CHECK(rig.told.empty());
  REQUIRE(rig.until([&] { return rig.told.size() == 1; }));
  CHECK(rig.told[0] == "/now 201now");
  CHECK(rig.site.asked[0] == "POST /now Bearer first application/json {}");
  rig.folder.write("token", "second");
  rig.client->send("PATCH", "/now", "[]", 5s, [&](Result<ApiResponse>) { rig.told.emplace_back(); }, kJsonPatch);
  REQUIRE(rig.until([&] { return rig.told.size() == 2; }));
  CHECK(rig.site.asked[1] == "PATCH /now Bearer second application/json-patch+json []");
}

TEST_CASE("requests are under way together, the rest waits in order, and what is too much is refused at once") {
  Rig rig;
  for (const char* path : {"/1", "/2", "/3", "/4", "/5", "/6"}) rig.ask(path);
  REQUIRE(rig.until([&] { return rig.told.size() == 1 && rig.site.waiting.size() == 2; }));
  CHECK(rig.told[0] == "/6 busy");
  for (std::size_t answered = 1; answered <= 5; ++answered) {
    REQUIRE(rig.until([&] { return !rig.site.waiting.empty(); }));
    rig.site.waiting.front().send({});
    rig.site.waiting.pop_front();
    REQUIRE(rig.until([&] { return rig.told.size() == 1 + answered; }));
  }
  CHECK(rig.site.asked.size() == 5);
  CHECK(rig.site.asked[4].starts_with("POST /5"));
  CHECK(rig.server.stats().open_connections == 2);
}

TEST_CASE("a deadline counts while a request waits and while it is asked, and frees the connection") {
  Rig rig(1);
  rig.ask("/asked", 50ms);
  rig.ask("/waiting", 50ms);
  rig.ask("/now");
  REQUIRE(rig.until([&] { return rig.told.size() == 3; }));
  CHECK(rig.told == std::vector<std::string>{"/asked timeout", "/waiting timeout", "/now 201now"});
}

TEST_CASE("a token that cannot be read is told, and is no request") {
  Rig rig;
  for (const char* content : {"", "two words", "\x01"}) {
    rig.folder.write("token", content);
    rig.told.clear();
    rig.ask("/now");
    CHECK(rig.told.empty());
    REQUIRE(rig.until([&] { return !rig.told.empty(); }));
    CHECK(rig.told[0] == "/now token");
  }
  CHECK(rig.site.asked.empty());
  std::filesystem::remove(rig.folder.path("token"));
  rig.ask("/now");
  REQUIRE(rig.until([&] { return rig.told.size() == 2; }));
}

TEST_CASE("who is told may ask again, or end the client") {
  Rig rig;
  rig.client->send("GET", "/now", "", 5s, [&](Result<ApiResponse>) { rig.ask("/now"); });
  REQUIRE(rig.until([&] { return rig.told.size() == 1; }));
  rig.client->send("GET", "/now", "", 5s, [&](Result<ApiResponse>) {
    rig.client.reset();
    rig.told.emplace_back("ended");
  });
  rig.ask("/never-told");
  REQUIRE(rig.until([&] { return rig.told.size() == 2; }));
  CHECK(rig.told[1] == "ended");
}

TEST_CASE("an API server that is away is told") {
  Rig rig;
  rig.server.close_all();
  rig.ask("/now");
  REQUIRE(rig.until([&] { return !rig.told.empty(); }));
  CHECK(rig.told[0] == "/now refused");
}

TEST_CASE("in a cluster everything is found where the kubelet puts it, and what is missing is named") {
  const sluice::http::Folder folder;
  const program::Invocation pod({}, {"KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBERNETES_SERVICE_PORT=443"});
  const auto error = [&] { return in_cluster_options(pod.environment(), folder.path("")).error().text; };
  CHECK(error().find("namespace cannot be read") != std::string::npos);
  folder.write("namespace", "sluice-system");
  CHECK(error().find("ca.crt cannot be read") != std::string::npos);
  folder.write("ca.crt", "x");
  folder.write("token", "x");
  const auto found = in_cluster_options(pod.environment(), folder.path(""));
  REQUIRE(found);
  CHECK(to_string(found->server) == "https://10.0.0.1:443");
  CHECK(found->namespace_ == "sluice-system");
  const program::Invocation elsewhere({}, {"KUBERNETES_SERVICE_PORT=443"});
  CHECK(in_cluster_options(elsewhere.environment(), folder.path("")).error().code == "not_in_cluster");
  const program::Invocation odd({}, {"KUBERNETES_SERVICE_HOST=::1", "KUBERNETES_SERVICE_PORT=tcp://x"});
  CHECK(in_cluster_options(odd.environment(), folder.path("")).error().text.find("not a port") != std::string::npos);
}

TEST_CASE("complaints are the API server's own words") {
  CHECK(error_text({403, R"({"kind":"Status","message":"pods is forbidden"})"}) ==
        "the Kubernetes API answers 403: pods is forbidden");
  CHECK(error_text({502, "<html>"}) == "the Kubernetes API answers 502");
}

}  // namespace
}  // namespace sluice::server::kubernetes
