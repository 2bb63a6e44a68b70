// Pods of all sorts from a seed: what people write, and what others' injectors and the API server add.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice::server::injector {

class PodMaker {
 public:
  explicit PodMaker(std::uint32_t seed) : random_(seed) {}

  std::string make() {
    std::vector<std::string> parts{R"("kind":"Pod")", R"("apiVersion":"v1")"};
    parts.push_back(fmt::format(R"("metadata":{})", metadata()));
    parts.push_back(fmt::format(R"("spec":{})", spec()));
    if (chance(20)) parts.emplace_back(R"("status":{"phase":"Pending"})");
    return object(parts);
  }

 private:
  bool chance(unsigned percent) { return random_() % 100 < percent; }
  std::size_t upto(std::size_t most) { return random_() % (most + 1); }
  template <std::size_t kCount>
  std::string one_of(const std::string_view (&choices)[kCount]) {
    return std::string(choices[random_() % kCount]);
  }

  static std::string object(const std::vector<std::string>& parts) {
    return fmt::format("{{{}}}", fmt::join(parts, ","));
  }
  static std::string list(const std::vector<std::string>& parts) { return fmt::format("[{}]", fmt::join(parts, ",")); }
  void maybe_list(std::vector<std::string>& parts, std::string_view name, const std::vector<std::string>& list_items) {
    if (!list_items.empty())
      parts.push_back(fmt::format(R"("{}":{})", name, list(list_items)));
    else if (chance(10))
      parts.push_back(fmt::format(R"("{}":{})", name, chance(50) ? "null" : "[]"));
  }

  std::string metadata() {
    std::vector<std::string> parts;
    parts.emplace_back(chance(60) ? R"("name":"a")" : R"("generateName":"b-")");
    if (chance(20)) parts.emplace_back(R"("creationTimestamp":null)");
    if (chance(40))
      parts.push_back(fmt::format(R"("labels":{{"app":"ümläut \"x\"","sluice.dev/inject":"{}"}})",
                                  chance(15) ? "disabled" : "enabled"));
    if (chance(60)) parts.push_back(fmt::format(R"("annotations":{})", annotations()));
    return object(parts);
  }

  std::string annotations() {
    static constexpr std::string_view kOnes[] = {R"("sluice.dev/log-level":"debug")",
                                                 R"("sluice.dev/log-level":"loud")",
                                                 R"("sluice.dev/workers":"2")",
                                                 R"("sluice.dev/memory-limit":"96Mi")",
                                                 R"("sluice.dev/memory-request":"200Mi")",
                                                 R"("sluice.dev/what":"1")",
                                                 R"("sluice.dev/server-ca":"forged")",
                                                 R"("sluice.dev/warnings":"old")",
                                                 R"("sluice.dev/injected":"0.0.1")",
                                                 R"("sluice.dev/skipped":"windows")",
                                                 R"("a/b~c":"d\n")",
                                                 R"("prometheus.io/scrape":"true")"};
    std::vector<std::string> parts;
    for (const std::string_view one : kOnes) {
      if (parts.size() < 5 && chance(20)) parts.emplace_back(one);
    }
    // A name once only.
    if (parts.size() > 1 && parts[0].find("log-level") != std::string::npos &&
        parts[1].find("log-level") != std::string::npos) {
      parts.erase(parts.begin());
    }
    return object(parts);
  }

  std::string spec() {
    std::vector<std::string> parts;
    std::vector<std::string> containers;
    for (std::size_t i = 0; i <= upto(3); ++i) containers.push_back(container(fmt::format("c{}", i)));
    parts.push_back(fmt::format(R"("containers":{})", list(containers)));
    std::vector<std::string> init;
    for (std::size_t i = upto(2); i > 0; --i) init.push_back(container(fmt::format("i{}", i)));
    maybe_list(parts, "initContainers", init);
    std::vector<std::string> volumes;
    for (std::size_t i = upto(3); i > 0; --i) volumes.push_back(fmt::format(R"({{"name":"v{}","emptyDir":{{}}}})", i));
    if (chance(3)) volumes.emplace_back(R"({"name":"sluice-socket","emptyDir":{}})");
    maybe_list(parts, "volumes", volumes);
    if (chance(5)) parts.emplace_back(R"("hostNetwork":true)");
    if (chance(10)) parts.emplace_back(R"("resources":{"limits":{"memory":"1Gi"}})");
    if (chance(30)) parts.emplace_back(R"("securityContext":{"runAsUser":1000,"fsGroup":2000,"runAsNonRoot":true})");
    if (chance(40)) parts.push_back(fmt::format(R"("restartPolicy":"{}")", chance(50) ? "Never" : "Always"));
    if (chance(10)) parts.emplace_back(R"("terminationGracePeriodSeconds":12345678901234567890)");
    return object(parts);
  }

  std::string container(const std::string& name) {
    std::vector<std::string> parts{fmt::format(R"("name":"{}")", name), R"("image":"x:1")"};
    std::vector<std::string> env;
    for (std::size_t i = upto(3); i > 0; --i)
      env.push_back(fmt::format(R"json({{"name":"E{}","value":"$(SLUICE_URL)"
  }})json",
                                i));
    if (chance(10)) env.emplace_back(R"({"name":"SLUICE_URL","value":"http://other"})");
    if (chance(5)) env.emplace_back(R"({"name":"SLUICE_SOCKET","value":"/mine"})");
    maybe_list(parts, "env", env);
    std::vector<std::string> mounts;
    for (std::size_t i = upto(2); i > 0; --i)
      mounts.push_back(fmt::format(R"({{"name":"v{0}","mountPath":"/v{0}"}})", i));
    if (chance(5)) mounts.emplace_back(R"({"name":"v1","mountPath":"/var/run/sluice"})");
    if (chance(5)) mounts.emplace_back(R"({"name":"v1","mountPath":"/var/run","readOnly":true})");
    maybe_list(parts, "volumeMounts", mounts);
    if (chance(30)) {
      parts.push_back(fmt::format(R"("ports":[{{"containerPort":{}}}])", one_of({"8080", "80", "9090", "8088"})));
    }
    if (chance(20)) parts.emplace_back(R"("resources":{"limits":{"cpu":"0.50","memory":"1e3Mi"}})");
    return object(parts);
  }

  std::mt19937 random_;
};

}  // namespace sluice::server::injector
