// What holds for any pod, on pods made from a seed.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include "server/injector/names.hpp"
#include "tests/unit/server/injector/fixture.hpp"
#include "tests/unit/server/injector/generated_pods.hpp"

namespace sluice::server::injector {
namespace {

constexpr std::uint32_t kSeed = 20'251'122;
constexpr int kPods = 200;

template <class Check>
void for_each_pod(Check check) {
  PodMaker maker(kSeed);
  for (int i = 0; i < kPods; ++i) {
    const std::string text = maker.make();
    CAPTURE(i);
    CAPTURE(text);
    check(parse_node(text));
  }
}

bool is_ours(std::string_view annotation) {
  constexpr std::array<std::string_view, 5> kOurs{kInjected, kSkipped, kWarnings, kServerCa, kCountersCa};
  return std::ranges::find(kOurs, annotation) != kOurs.end();
}

bool is_empty(const Node& node) {
  return node.type == json::Type::null || (node.type == json::Type::array && node.items.empty()) ||
         (node.type == json::Type::object && node.members.empty());
}

// All that `before` says is in `after`, lists in the same order; counts in `added` what lists have more.
bool kept(const Node& before, const Node& after, int& added) {
  if (before.type != after.type) return is_empty(before);
  if (before.type == json::Type::array) {
    std::size_t next = 0;
    for (const Node& item : after.items) {
      int more = 0;
      if (next < before.items.size() && kept(before.items[next], item, more)) {
        ++next;
        added += more;
      } else {
        ++added;
      }
    }
    return next == before.items.size();
  }
  if (before.type != json::Type::object) return before.text == after.text;
  return std::ranges::all_of(before.members, [&](const auto& member) {
    const Node* const found = after.find(member.first);
    return is_ours(member.first) || (found != nullptr && kept(member.second, *found, added));
  });
}

// What the API server adds between two questions about one pod.
Node completed(Node pod) {
  pod = sorted(std::move(pod));
  for (const char* const list : {"containers", "initContainers"}) {
    Node* const found = pod.find("spec")->find(list);
    if (found == nullptr) continue;
    for (Node& container : found->items) {
      if (Node* const mounts = container.find("volumeMounts"); mounts != nullptr && mounts->type == json::Type::array) {
        mounts->items.push_back(
            parse_node(R"({"name":"kube-api-access","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"})"));
      }
      container.members.emplace_back("terminationMessagePath", parse_node(R"("/dev/termination-log")"));
      for (const char* const probe : {"startupProbe", "readinessProbe", "livenessProbe"}) {
        if (Node* const there = container.find(probe)) {
          there->members.emplace_back("successThreshold", parse_node("1"));
          there->find("httpGet")->members.emplace_back("scheme", parse_node(R"("HTTP")"));
        }
      }
      Node* const env = container.find("env");
      if (env == nullptr) continue;
      for (Node& one : env->items) {
        if (Node* const from = one.find("valueFrom")) {
          from->find("fieldRef")->members.emplace_back("apiVersion", parse_node(R"("v1")"));
        }
      }
      env->items.push_back(parse_node(R"({"name":"OF_ANOTHER_INJECTOR","value":"1"})"));
    }
  }
  return pod;
}

InjectorSettings other_settings() {
  InjectorSettings other = settings();
  other.version = "2.0.0";
  other.image = "localhost/sluice:next";
  other.server_ca.clear();
  other.counters = "memory";
  other.sidecar.variables["SLUICE_AGENT_LOG_LEVEL"] = "warn";
  other.sidecar.memory_limit_bytes = 128LL << 20;
  return other;
}

}  // namespace

TEST_CASE("of a pod as it left it, the injector wants nothing more") {
  int injected = 0;
  for_each_pod([&](const Node& before) {
    const Outcome once = run(before);
    const Outcome twice = run(once.after);
    using Result = Injection::Result;
    CHECK(twice.made.patch.empty());
    CHECK(twice.made.result == (once.made.result == Result::skipped ? Result::skipped : Result::unchanged));
    CHECK(text_of(twice.after) == text_of(once.after));
    CHECK(twice.made.warnings == once.made.warnings);
    injected += once.made.result == Result::injected ? 1 : 0;
  });
  CHECK(injected > kPods / 3);
  CHECK(injected < kPods);
}

TEST_CASE("nothing of a pod is lost, and lists keep their order") {
  for_each_pod([](const Node& before) {
    const Outcome outcome = run(before);
    int added = 0;
    CHECK(kept(before, outcome.after, added));
    // Two variables and a mount for each container; the sidecar and three volumes count where there were others.
    const std::size_t containers = 7;
    CHECK(added <= static_cast<int>(3 * containers + 4));
    if (outcome.made.result == Injection::Result::skipped) {
      CHECK(text_of(outcome.after.at("/spec")) == text_of(before.at("/spec")));
      CHECK(added == 0);
    }
  });
}

TEST_CASE("what the API server and others add in between is no reason to change the pod again") {
  for_each_pod([](const Node& before) {
    const Outcome once = run(before);
    if (once.made.result == Injection::Result::skipped) return;
    const Outcome again = run(completed(once.after));
    CHECK(again.made.patch == "");
    CHECK(again.made.result == Injection::Result::unchanged);
  });
}

TEST_CASE("a sidecar from before becomes what a new one would be") {
  for_each_pod([](const Node& before) {
    const Outcome old = run(before);
    if (old.made.result == Injection::Result::skipped) return;
    const Outcome updated = run(old.after, other_settings());
    CHECK(updated.made.result == Injection::Result::updated);
    CHECK(text_of(sorted(updated.after)) == text_of(sorted(run(before, other_settings()).after)));
    CHECK(run(updated.after, other_settings()).made.patch.empty());
  });
}

TEST_CASE("brought up to date, a sidecar keeps what others gave it") {
  const Outcome old = run(completed(run(pod()).after), other_settings());
  CHECK(old.made.result == Injection::Result::updated);
  const std::string text = old.text("/spec/initContainers/0");
  CHECK(text.find("OF_ANOTHER_INJECTOR") != std::string::npos);
  CHECK(text.find("kube-api-access") != std::string::npos);
  CHECK(text.find("REDIS_PASSWORD_FROM_SERVER") == std::string::npos);
}

}  // namespace sluice::server::injector
