#include "server/injector/missed_pods.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <boost/asio/post.hpp>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/server/injector/fixture.hpp"

namespace sluice::server::injector {
namespace {

using namespace std::chrono_literals;
using kubernetes::ApiResponse;

class FixedClock final : public Clock {
 public:
  std::int64_t now_us() const override { return 1'700'000'000'123'456; }
};

// Answers from lists; says what it was asked.
class FakeApi final : public kubernetes::Api {
 public:
  explicit FakeApi(boost::asio::io_context& loop) : loop_(loop) {}

  void send(std::string method, std::string path, std::string body, std::chrono::milliseconds, Done done, std::string,
            std::string accept) override {
    asked.push_back(method + ' ' + path);
    if (method == "GET") accepts.push_back(std::move(accept));
    Result<ApiResponse> answer = answer_to(method, path, body);
    boost::asio::post(loop_, [done = std::move(done), answer = std::move(answer)] { done(answer); });
  }

  std::map<std::string, std::vector<std::string>> pods;  // by namespace
  std::map<std::string, std::vector<std::string>> host_network_pods;
  std::vector<std::string> asked;
  std::vector<std::string> accepts;
  std::vector<std::string> events;
  unsigned event_status = 201;
  bool down = false;
  bool large_pages_fail = false;
  std::size_t page = 1'000;  // pods in an answer

 private:
  Result<ApiResponse> answer_to(const std::string& method, const std::string& path, const std::string& body) {
    if (down) return failure("refused", "nobody listens");
    if (method == "POST") {
      events.push_back(body);
      return ApiResponse{event_status, "{}"};
    }
    if (path.starts_with("/api/v1/namespaces?")) return namespaces();
    if (large_pages_fail && path.find("limit=200") != std::string::npos) return failure("too_large", "too large");
    const std::size_t begin = std::string_view("/api/v1/namespaces/").size();
    return list_pods(path.substr(begin, path.find('/', begin) - begin), path);
  }

  Result<ApiResponse> namespaces() const {
    std::string items_text;
    for (const auto& [name, ignored] : pods) {
      items_text += fmt::format(R"({}{{"metadata":{{"name":"{}"}}}})", items_text.empty() ? "" : ",", name);
    }
    return ApiResponse{200, fmt::format(R"({{"metadata":{{}},"items":[{}]}})", items_text)};
  }

  Result<ApiResponse> list_pods(const std::string& name, const std::string& path) const {
    const bool on_node = path.find("spec.hostNetwork%3Dtrue") != std::string::npos;
    const auto& lists = on_node ? host_network_pods : pods;
    const auto list = lists.find(name);
    const std::vector<std::string> all = list == lists.end() ? std::vector<std::string>() : list->second;
    const std::size_t at = path.find("&continue=");
    const std::size_t first = at == std::string::npos ? 0 : std::stoul(path.substr(at + 10));
    const std::size_t last = std::min(first + page, all.size());
    std::string items_text;
    for (std::size_t i = first; i < last; ++i) items_text += (i == first ? "" : ",") + all[i];
    const std::string more = last < all.size() ? fmt::format(R"("continue":"{}")", last) : "";
    return ApiResponse{200, fmt::format(R"({{"metadata":{{{}}},"items":[{}]}})", more, items_text)};
  }

  boost::asio::io_context& loop_;
};

std::string bare(const std::string& uid, const std::string& metadata = "") {
  return fmt::format(R"({{"metadata":{{"name":"cart-{0}","uid":"{0}"{1}}}}})", uid, metadata);
}

// What the API server sends of a pod.
std::string metadata_of(const Node& whole) { return R"({"metadata":)" + text_of(whole.at("/metadata")) + "}"; }

struct Rig {
  boost::asio::io_context loop;
  FakeApi api{loop};
  InjectorSettings with = settings();
  FixedClock clock;
  telemetry::LineWriter lines{STDERR_FILENO};
  telemetry::Log log{lines, telemetry::LogLevel::error};
  MissedPods missed{loop, api, with, clock, log, 1h};

  void look() {
    missed.scan();
    loop.restart();
    // The timer of the next look is all that is left.
    while (loop.poll_one() > 0) {
    }
  }
  std::int64_t count() const { return missed.statistics().missed; }
};

}  // namespace

TEST_CASE("pods without a sidecar are counted, and each is marked once") {
  Rig rig;
  rig.api.pods["shop"] = {bare("u1"), metadata_of(run(pod()).after), bare("u2"),
                          bare("u3", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")")};
  rig.api.pods["empty"] = {};
  rig.look();
  CHECK(rig.count() == 2);
  CHECK(rig.api.events.size() == 2);
  CHECK(rig.missed.statistics().events == 2);
  rig.look();
  CHECK(rig.count() == 2);
  CHECK(rig.api.events.size() == 2);
  CHECK(rig.missed.statistics().scans == 2);
}

TEST_CASE("only metadata are asked for, and pods that the webhook has skipped are not missed") {
  Rig rig;
  rig.api.pods["shop"] = {bare("u1"), metadata_of(run(pod(R"("os":{"name":"windows"})")).after)};
  rig.look();
  CHECK(rig.count() == 1);
  CHECK(rig.api.accepts ==
        std::vector<std::string>(3, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"));
}

TEST_CASE("the event is a warning about the pod that says what to do") {
  Rig rig;
  rig.api.pods["shop"] = {bare("u1")};
  rig.look();
  REQUIRE(rig.api.events.size() == 1);
  const Node event = parse_node(rig.api.events[0]);
  CHECK(event.at("/type").text == "Warning");
  CHECK(event.at("/reason").text == "SidecarMissing");
  CHECK(event.at("/involvedObject/uid").text == "u1");
  CHECK(event.at("/involvedObject/name").text == "cart-u1");
  CHECK(event.at("/metadata/name").text.starts_with("cart-u1."));
  CHECK(event.at("/firstTimestamp").text == "2023-11-14T22:13:20Z");
  CHECK(event.at("/message").text.find("rollout restart") != std::string::npos);
}

TEST_CASE("a pod that the webhook skipped is not missed, and gets an event with the reason once") {
  Rig rig;
  rig.api.pods["shop"] = {metadata_of(run(pod(R"("volumes":[{"name":"sluice-state"}])")).after),
                          bare("u2", R"(,"labels":{"sluice.dev/inject":"disabled"})")};
  rig.look();
  CHECK(rig.count() == 0);
  REQUIRE(rig.api.events.size() == 1);
  const Node event = parse_node(rig.api.events[0]);
  CHECK(event.at("/reason").text == "SidecarMissing");
  CHECK(event.at("/type").text == "Warning");
  CHECK(event.at("/message")
            .text.starts_with("The pod runs without the Sluice agent: it has a volume called sluice-state that the "
                              "injector did not make"));
  rig.look();
  CHECK(rig.api.events.size() == 1);
}

TEST_CASE("a pod on the node's network gets the event, with a note of the webhook and without") {
  Rig rig;
  rig.api.pods["shop"] = {};
  rig.api.host_network_pods["shop"] = {bare("u1", R"(,"annotations":{"sluice.dev/skipped":"host_network"})"),
                                       bare("u2"), bare("u3", R"(,"annotations":{"kubernetes.io/config.mirror":"1a"})"),
                                       bare("u4", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")")};
  rig.look();
  CHECK(rig.count() == 0);
  REQUIRE(rig.api.events.size() == 2);
  CHECK(parse_node(rig.api.events[0]).at("/involvedObject/uid").text == "u2");
  CHECK(parse_node(rig.api.events[0]).at("/message").text.find("use a gateway instead") != std::string::npos);
  CHECK(parse_node(rig.api.events[1]).at("/message").text.find("agent: host_network.") != std::string::npos);
}

TEST_CASE("an event that another server has written counts as written") {
  Rig rig;
  rig.api.pods["shop"] = {bare("u1")};
  rig.api.event_status = 409;
  rig.look();
  rig.look();
  CHECK(rig.api.events.size() == 1);
  CHECK(rig.missed.statistics().events == 0);
  CHECK(rig.missed.statistics().failures == 0);
}

TEST_CASE("lists are read page by page, and only what runs and has not opted out is asked for") {
  Rig rig;
  rig.api.page = 2;
  for (int i = 0; i < 5; ++i) rig.api.pods["shop"].push_back(bare(std::to_string(i)));
  rig.look();
  CHECK(rig.count() == 5);
  REQUIRE(rig.api.asked.size() >= 4);
  CHECK(rig.api.asked[0].find("labelSelector=sluice.dev%2Finject%3Denabled") != std::string::npos);
  CHECK(rig.api.asked[1].find("labelSelector=sluice.dev%2Finject%21%3Ddisabled") != std::string::npos);
  CHECK(rig.api.asked[1].find("Succeeded") != std::string::npos);
  CHECK(rig.api.asked[1].find("spec.hostNetwork%21%3Dtrue") != std::string::npos);
  CHECK(rig.api.asked[2].ends_with("&continue=2"));
}

TEST_CASE("pods too large for a page are asked for in smaller ones") {
  Rig rig;
  rig.api.large_pages_fail = true;
  rig.api.pods["shop"] = {bare("u1")};
  rig.look();
  CHECK(rig.count() == 1);
  CHECK(rig.api.asked[2].find("limit=100") != std::string::npos);
}

TEST_CASE("while the API server is away the last count stands, and a pod is marked when it is back") {
  Rig rig;
  rig.api.pods["shop"] = {bare("u1")};
  rig.look();
  rig.api.pods["shop"].push_back(bare("u2"));
  rig.api.down = true;
  rig.look();
  CHECK(rig.count() == 1);
  CHECK(rig.missed.statistics().failures == 1);
  rig.api.down = false;
  rig.look();
  CHECK(rig.count() == 2);
  CHECK(rig.api.events.size() == 2);
}

TEST_CASE("without the right to write events, pods are counted all the same") {
  Rig rig;
  rig.api.pods["shop"] = {bare("u1")};
  rig.api.event_status = 403;
  rig.look();
  rig.api.pods["shop"].push_back(bare("u2"));
  rig.look();
  CHECK(rig.count() == 2);
  CHECK(rig.missed.statistics().failures == 2);
  CHECK(rig.api.events.size() == 3);
}

TEST_CASE("namespaces that are never touched are not missed, whatever their labels say") {
  Rig rig;
  for (const char* const name : {"sluice-system", "kube-system"}) rig.api.pods[name] = {bare("u1")};
  rig.look();
  CHECK(rig.count() == 0);
  CHECK(rig.api.asked.size() == 1);  // not even their metadata are read
}

TEST_CASE("answers that come after the stop find nobody") {
  Rig rig;
  rig.api.pods["shop"] = {bare("u1")};
  rig.missed.scan();
  rig.missed.stop();
  rig.loop.run();
  CHECK(rig.count() == 0);
  CHECK(rig.api.asked.size() == 1);
}

}  // namespace sluice::server::injector
