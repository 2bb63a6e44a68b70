#include "server/injector/inject.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/server/injector/fixture.hpp"

namespace sluice::server::injector {
namespace {

using Result = Injection::Result;

// The value of a variable in a container, as JSON; "": it has none.
std::string variable(const Outcome& outcome, const std::string& container, std::string_view name) {
  for (const Node& one : outcome.after.at(container + "/env").items) {
    if (one.at("/name").text == name) return one.find("value") != nullptr ? one.at("/value").text : text_of(one);
  }
  return "";
}

std::vector<std::string> names(const Node& list) {
  std::vector<std::string> out;
  for (const Node& item : list.items) out.push_back(item.at("/name").text);
  return out;
}

}  // namespace

TEST_CASE("a pod gets the sidecar, its volumes, and its container the way to it") {
  const Outcome outcome = run(pod());
  CHECK(outcome.made.result == Result::injected);
  CHECK(outcome.made.warnings.empty());
  CHECK(outcome.text("/spec/initContainers/0/name") == R"("sluice-agent")");
  CHECK(outcome.text("/spec/initContainers/0/restartPolicy") == R"("Always")");
  CHECK(outcome.text("/spec/initContainers/0/image") == R"("localhost/sluice:dev")");
  CHECK(names(outcome.after.at("/spec/volumes")) ==
        std::vector<std::string>{"sluice-socket", "sluice-state", "sluice-identity"});
  CHECK(outcome.text("/spec/containers/0/env") == R"([{"name":"SLUICE_URL","value":"http://127.0.0.1:8088"},)"
                                                  R"({"name":"SLUICE_SOCKET","value":"/var/run/sluice/agent.sock"}])");
  CHECK(outcome.text("/spec/containers/0/volumeMounts") ==
        R"([{"name":"sluice-socket","mountPath":"/var/run/sluice","readOnly":true}])");
  CHECK(outcome.annotation("sluice.dev/injected") == "1.2.3");
  CHECK(outcome.annotation("sluice.dev/server-ca") == settings().server_ca);
}

TEST_CASE("the sidecar may run wherever Pod Security says restricted") {
  CHECK(run(pod()).text("/spec/initContainers/0/securityContext") ==
        R"({"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"runAsNonRoot":true,"runAsUser":65532,)"
        R"("runAsGroup":65532,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}})");
}

TEST_CASE("the sidecar asks for 10m of CPU and 16Mi, is held to 64Mi, and has no limit of CPU") {
  CHECK(run(pod()).text("/spec/initContainers/0/resources") ==
        R"({"requests":{"cpu":"10m","memory":"16Mi"},"limits":{"memory":"64Mi"}})");
}

TEST_CASE("the agent is told where everything is, and no secret is among it") {
  const Outcome outcome = run(pod());
  const std::string at = "/spec/initContainers/0";
  CHECK(variable(outcome, at, "SLUICE_AGENT_SERVER") == settings().server_url);
  CHECK(variable(outcome, at, "SLUICE_AGENT_AGENT_TOKEN_FILE") == "/var/run/secrets/sluice/token");
  CHECK(variable(outcome, at, "SLUICE_AGENT_SERVER_TLS_CA") == "/var/run/secrets/sluice/ca.crt");
  CHECK(variable(outcome, at, "SLUICE_AGENT_SNAPSHOT_CACHE") == "/var/lib/sluice/snapshot");
  CHECK(variable(outcome, at, "SLUICE_AGENT_COUNTERS") == "redis://redis.example:6379/0");
  CHECK(variable(outcome, at, "SLUICE_AGENT_REDIS_PASSWORD_FROM_SERVER") == "true");
  CHECK(variable(outcome, at, "SLUICE_AGENT_LISTEN_UNIX") == "/var/run/sluice/agent.sock");
  CHECK(variable(outcome, at, "SLUICE_AGENT_LISTEN_UNIX_MODE") == "0666");
  CHECK(variable(outcome, at, "POD_NAME") ==
        R"({"name":"POD_NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}})");
}

TEST_CASE("the agent of a traced review starts in the review's trace") {
  constexpr std::string_view kReview = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  json::Tree tree;
  const std::string text = pod();
  const Injection made = inject(*tree.parse(text), "shop", settings(), kReview);
  const Node traced = patched(parse_node(text), made.patch);
  const std::string variable = fmt::format(R"({{"name":"TRACEPARENT","value":"{}"}})", kReview);
  CHECK(text_of(traced).find(variable) != std::string::npos);
  CHECK(text_of(run(pod()).after).find("TRACEPARENT") == std::string::npos);

  // The API server may ask again for the pod that it has patched, in another span.
  json::Tree again;
  const std::string patched_text = text_of(traced);
  const Injection second =
      inject(*again.parse(patched_text), "shop", settings(), "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01");
  CHECK(second.result == Injection::Result::unchanged);
  CHECK(second.patch.empty());
  InjectorSettings other = settings();
  other.image = "localhost/sluice:next";
  const Outcome updated = run(traced, other);
  CHECK(updated.made.result == Injection::Result::updated);
  CHECK(text_of(updated.after).find(variable) != std::string::npos);
}

TEST_CASE("the agent may use Redis without TLS only where the settings say so") {
  const std::string at = "/spec/initContainers/0";
  CHECK(variable(run(pod()), at, "SLUICE_AGENT_INSECURE_REDIS").empty());
  InjectorSettings insecure = settings();
  insecure.insecure_redis = true;
  CHECK(variable(run(pod(), insecure), at, "SLUICE_AGENT_INSECURE_REDIS") == "true");
}

TEST_CASE("what belongs to an authority that nobody named is left out") {
  InjectorSettings without = settings();
  without.server_ca.clear();
  const Outcome outcome = run(pod(), without);
  CHECK(variable(outcome, "/spec/initContainers/0", "SLUICE_AGENT_SERVER_TLS_CA").empty());
  CHECK(outcome.text("/spec/volumes/2/projected") ==
        R"({"sources":[{"serviceAccountToken":{"path":"token","audience":"sluice","expirationSeconds":3600}}]})");
  CHECK(outcome.annotation("sluice.dev/server-ca").empty());
}

TEST_CASE("authorities' certificates reach the agent as annotations of the pod") {
  InjectorSettings with = settings();
  with.counters = "rediss://redis.example:6380/0";
  with.counters_ca = "-----BEGIN CERTIFICATE-----\n";
  const Outcome outcome = run(pod(), with);
  CHECK(outcome.text("/spec/volumes/2/projected/sources/1") ==
        R"({"downwardAPI":{"items":[{"path":"ca.crt","fieldRef":{"fieldPath":)"
        R"("metadata.annotations['sluice.dev/server-ca']"}}]}})");
  CHECK(outcome.text("/spec/volumes/2/projected/sources/2/downwardAPI/items/0/path") == R"("counters-ca.crt")");
  CHECK(outcome.annotation("sluice.dev/counters-ca") == with.counters_ca);
  CHECK(variable(outcome, "/spec/initContainers/0", "SLUICE_AGENT_REDIS_TLS_CA") ==
        "/var/run/secrets/sluice/counters-ca.crt");
}

TEST_CASE("counting in memory, the agent asks nobody for a password") {
  InjectorSettings with = settings();
  with.counters = "memory";
  CHECK(variable(run(pod(), with), "/spec/initContainers/0", "SLUICE_AGENT_REDIS_PASSWORD_FROM_SERVER").empty());
}

TEST_CASE("the sidecar comes before the pod's own init containers, which keep their order and may ask too") {
  const Outcome outcome = run(pod(R"("initContainers":[{"name":"first"},{"name":"second","env":[{"name":"A"}]}])"));
  CHECK(names(outcome.after.at("/spec/initContainers")) == std::vector<std::string>{"sluice-agent", "first", "second"});
  CHECK(variable(outcome, "/spec/initContainers/1", "SLUICE_URL") == "http://127.0.0.1:8088");
  CHECK(names(outcome.after.at("/spec/initContainers/2/env")) ==
        std::vector<std::string>{"SLUICE_URL", "SLUICE_SOCKET", "A"});
  CHECK(outcome.text("/spec/initContainers/2/volumeMounts/0/name") == R"("sluice-socket")");
}

TEST_CASE("every container gets the way to the agent, and all that was there stays in its order") {
  const Outcome outcome = run(
      R"json({"metadata":{"name":"p"},"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[
      {"name":"a","env":[{"name":"X","value":"1"},{"name":"Y","value":"$(SLUICE_URL)"}],
       "volumeMounts":[{"name":"v","mountPath":"/v"}]
},{"name":"b"}]
}
})json");
  CHECK(names(outcome.after.at("/spec/containers/0/env")) ==
        std::vector<std::string>{"SLUICE_URL", "SLUICE_SOCKET", "X", "Y"});
  CHECK(names(outcome.after.at("/spec/containers/0/volumeMounts")) == std::vector<std::string>{"v", "sluice-socket"});
  CHECK(names(outcome.after.at("/spec/containers/1/env")) == std::vector<std::string>{"SLUICE_URL", "SLUICE_SOCKET"});
  CHECK(names(outcome.after.at("/spec/volumes")) ==
        std::vector<std::string>{"v", "sluice-socket", "sluice-state", "sluice-identity"});
}

TEST_CASE("a variable that is set stays as it is") {
  const Outcome outcome = run(pod("", "", R"("env":[{"name":"SLUICE_URL","value":"http://gateway:8088"}])"));
  CHECK(variable(outcome, "/spec/containers/0", "SLUICE_URL") == "http://gateway:8088");
  CHECK(names(outcome.after.at("/spec/containers/0/env")) == std::vector<std::string>{"SLUICE_SOCKET", "SLUICE_URL"});
}

TEST_CASE("where the socket's folder is taken, the container is told nothing of a socket, and its maker is warned") {
  const Outcome outcome =
      run(pod(R"("volumes":[{"name":"v"}])", "", R"("volumeMounts":[{"name":"v","mountPath":"/var/run/sluice/"}])"));
  CHECK(outcome.made.result == Result::injected);
  CHECK(names(outcome.after.at("/spec/containers/0/env")) == std::vector<std::string>{"SLUICE_URL"});
  CHECK(outcome.after.at("/spec/containers/0/volumeMounts").items.size() == 1);
  REQUIRE(outcome.made.warnings.size() == 1);
  CHECK(outcome.made.warnings[0].find("\"app\" has something else at /var/run/sluice") != std::string::npos);
  CHECK(outcome.annotation("sluice.dev/warnings") == outcome.made.warnings[0]);
}

TEST_CASE("below a folder mounted read-only no folder can be made: the container asks over the port") {
  const Outcome outcome = run(pod("", "", R"("volumeMounts":[{"name":"v","mountPath":"/var/run","readOnly":true}])"));
  CHECK(outcome.made.warnings.size() == 1);
  CHECK(outcome.after.at("/spec/containers/0/volumeMounts").items.size() == 1);
  CHECK(run(pod("", "", R"("volumeMounts":[{"name":"v","mountPath":"/var/run"}])")).made.warnings.empty());
}

TEST_CASE("what is null counts as not there") {
  const Outcome outcome = run(pod(R"("initContainers":null,"volumes":null)", R"("annotations":null)", R"("env":null)"));
  CHECK(outcome.made.result == Result::injected);
  CHECK(names(outcome.after.at("/spec/initContainers")) == std::vector<std::string>{"sluice-agent"});
}

TEST_CASE("a pod whose resources are given as a whole takes the agent's from them") {
  const Outcome outcome = run(pod(R"("resources":{"limits":{"cpu":"1","memory":"1Gi"}})",
                                  R"("annotations":{"sluice.dev/memory-limit":"128Mi"})"));
  CHECK(outcome.after.at("/spec/initContainers/0").find("resources") == nullptr);
  REQUIRE(outcome.made.warnings.size() == 1);
  CHECK(outcome.made.warnings[0].find("spec.resources") != std::string::npos);
}

}  // namespace sluice::server::injector
