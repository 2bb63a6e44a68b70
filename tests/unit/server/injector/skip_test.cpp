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

TEST_CASE("pods that get no sidecar are left without one, with the reason") {
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
    CHECK(text_of(outcome.after.at("/spec")) == text_of(parse_node(row.pod).at("/spec")));
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

TEST_CASE("a pod that is skipped is told why in its annotations, unless its creator knows or may not change it") {
  const Outcome network = run(pod(R"("hostNetwork":true)", R"("annotations":{"a":"b"})"));
  CHECK(network.annotation("sluice.dev/skipped") == "host_network");
  CHECK(network.annotation("sluice.dev/warnings").starts_with("the pod gets no agent: it uses the node's network"));
  CHECK(network.annotation("a") == "b");
  CHECK(run(port(8088)).annotation("sluice.dev/skipped") == "port_clash");
  CHECK(run(pod("", R"("labels":{"sluice.dev/inject":"disabled"})")).made.patch.empty());
  CHECK(run(annotated(R"("kubernetes.io/config.mirror":"1a2b")")).made.patch.empty());
  CHECK(run(pod(R"("hostNetwork":true)"), settings(), "kube-system").made.patch.empty());
}

TEST_CASE("what a pod brings with it as the webhook's word is replaced by the webhook's word") {
  const std::string forged = R"("annotations":{"sluice.dev/skipped":"windows","sluice.dev/injected":"9"})";
  const Outcome injected = run(pod("", forged));
  CHECK(injected.made.result == Injection::Result::injected);
  CHECK(injected.annotation("sluice.dev/skipped") == "");
  CHECK(injected.annotation("sluice.dev/injected") == settings().version);
  CHECK(injected.made.warnings.empty());
  const Outcome skipped = run(pod(R"("hostNetwork":true)", forged));
  CHECK(skipped.annotation("sluice.dev/skipped") == "host_network");
  CHECK(skipped.annotation("sluice.dev/injected") == "");
  const Outcome opted_out = run(pod("", R"("labels":{"sluice.dev/inject":"disabled"},)" + forged));
  CHECK(opted_out.annotation("sluice.dev/skipped") == "");
  CHECK(opted_out.annotation("sluice.dev/injected") == "");
}

TEST_CASE("a pod that was skipped and no longer has the reason gets the sidecar, and the note is gone") {
  Node once = run(port(8088)).after;
  once.find("spec")->find("containers")->items[0].find("ports")->items.clear();
  const Outcome then = run(once);
  CHECK(then.made.result == Injection::Result::injected);
  CHECK(then.annotation("sluice.dev/skipped") == "");
  CHECK(then.annotation("sluice.dev/warnings") == "");
}

TEST_CASE("a pod that has the sidecar keeps the note of it when it is asked about again and would be skipped") {
  Node with = run(pod()).after;
  with.find("spec")->members.emplace_back("hostNetwork", parse_node("true"));
  const Outcome again = run(with);
  CHECK(again.made.result == Injection::Result::skipped);
  CHECK(again.made.patch.empty());
}

TEST_CASE("a pod is missed if the webhook left no word on it, as its metadata alone show") {
  const auto missed = [](const std::string& metadata) {
    json::Tree tree;
    return was_missed(Pod(*tree.parse(metadata)));
  };
  const auto of = [&missed](const Node& whole) {
    return missed(R"({"metadata":)" + text_of(whole.at("/metadata")) + "}");
  };
  CHECK(of(parse_node(pod())));
  CHECK_FALSE(of(run(pod()).after));
  for (const std::string& one :
       {pod(R"("hostNetwork":true)"), pod(R"("os":{"name":"windows"})"), port(8088),
        pod(R"("initContainers":[{"name":"sluice-agent"}])"), pod(R"("volumes":[{"name":"sluice-state"}])"),
        pod("", R"("labels":{"sluice.dev/inject":"disabled"})"),
        annotated(R"("kubernetes.io/config.mirror":"1a2b")")}) {
    CAPTURE(one);
    CHECK_FALSE(of(run(one).after));
  }
}

}  // namespace sluice::server::injector
