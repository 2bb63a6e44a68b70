#include "server/injector/skip.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/server/injector/fixture.hpp"

namespace sluice::server::injector {
namespace {

struct Row {
  const char* what;
  std::string pod;
  SkipReason reason;
  const char* says;  // part of the reason's text
};

std::string port(int number, const char* more = "") {
  return pod("", "", R"("ports":[{"containerPort":)" + std::to_string(number) + more + "}]");
}

}  // namespace

TEST_CASE("pods that get no sidecar are left as they are, with the reason") {
  const Row rows[] = {
      {"opted out", pod("", R"("labels":{"sluice.dev/inject":"disabled"})"), SkipReason::opted_out, "disabled"},
      {"mirror", annotated(R"("kubernetes.io/config.mirror":"1a2b")"), SkipReason::mirror_pod, "static pod"},
      {"host network", pod(R"("hostNetwork":true)"), SkipReason::host_network, "gateway"},
      {"windows", pod(R"("os":{"name":"windows"})"), SkipReason::windows, "Linux"},
      {"port of checks", port(8088), SkipReason::port_clash, "port 8088"},
      {"port of probes", port(9088, R"(,"protocol":"TCP")"), SkipReason::port_clash, "\"app\" listens on port 9088"},
      {"port of an init container", pod(R"("initContainers":[{"name":"i","ports":[{"containerPort":8088}]}])"),
       SkipReason::port_clash, "\"i\""},
      {"container's name", pod(R"("initContainers":[{"name":"sluice-agent"}])"), SkipReason::name_clash, "rename"},
      {"app's name",
       R"({"metadata":{"annotations":{"sluice.dev/injected":"1"}},)"
       R"("spec":{"containers":[{"name":"sluice-agent"}]}})",
       SkipReason::name_clash, "rename"},
      {"volume's name", pod(R"("volumes":[{"name":"sluice-state"}])"), SkipReason::volume_clash, "sluice-state"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Outcome outcome = run(row.pod);
    CHECK(outcome.made.result == Injection::Result::skipped);
    CHECK(outcome.made.patch.empty());
    REQUIRE(outcome.made.skip.has_value());
    CHECK(to_string(outcome.made.skip->reason) == to_string(row.reason));
    CHECK_MESSAGE(outcome.made.skip->text.find(row.says) != std::string::npos, outcome.made.skip->text);
  }
}

TEST_CASE("pods of the system's namespaces and of the server's own are left alone") {
  for (const char* const namespace_ : {"kube-system", "kube-public", "kube-node-lease", "sluice-system"}) {
    CAPTURE(namespace_);
    const Outcome outcome = run(pod(), settings(), namespace_);
    REQUIRE(outcome.made.skip.has_value());
    CHECK(outcome.made.skip->reason == SkipReason::namespace_);
  }
  CHECK_FALSE(run(pod(), settings(), "kube-systems").made.skip.has_value());
  InjectorSettings elsewhere = settings();
  elsewhere.own_namespace = "limits";
  CHECK(run(pod(), elsewhere, "limits").made.skip.has_value());
  CHECK_FALSE(run(pod(), elsewhere, "sluice-system").made.skip.has_value());
}

TEST_CASE("what only looks like a reason is none") {
  for (const std::string& one :
       {pod(R"("hostNetwork":false)"), pod(R"("os":{"name":"linux"})"), port(8080), port(8088, R"(,"protocol":"UDP")"),
        pod("", R"("labels":{"sluice.dev/inject":"enabled"})"), pod(R"("hostPID":true)"),
        pod("", R"("annotations":{"sluice.dev/injected":"1.2.3"})")}) {
    CAPTURE(one);
    CHECK(run(one).made.result == Injection::Result::injected);
  }
}

TEST_CASE("a pod is missed when it would get a sidecar now, and is not when it has one or would get none") {
  const auto lacks = [](const std::string& text) {
    json::Tree tree;
    const auto root = tree.parse(text);
    return lacks_sidecar(*root, "shop", settings());
  };
  CHECK(lacks(pod()));
  CHECK_FALSE(lacks(pod(R"("hostNetwork":true)")));
  CHECK_FALSE(lacks(text_of(run(pod()).after)));
}

}  // namespace sluice::server::injector
