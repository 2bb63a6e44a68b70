#include "server/injector/pod_settings.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "server/injector/names.hpp"

namespace sluice::server::injector {
namespace {

// Annotations that the injector writes itself.
constexpr std::array<std::string_view, 5> kReserved{kInjected, kSkipped, kWarnings, kServerCa, kCountersCa};
constexpr std::array<std::string_view, 4> kAmounts{"cpu-request", "cpu-limit", "memory-request", "memory-limit"};

bool is_amount(std::string_view name) { return std::ranges::find(kAmounts, name) != kAmounts.end(); }

void warn(std::vector<std::string>& warnings, std::string_view annotation, std::string_view rule) {
  warnings.push_back(fmt::format("{} {}; it is ignored", annotation, rule));
}

void read_annotation(std::string_view name, const json::Value& value, SidecarSettings& settings,
                     std::vector<std::string>& warnings) {
  if (name == kInjectLabel) return warn(warnings, name, "is a label, not an annotation");
  if (value.type() != json::Type::string) return warn(warnings, name, "must be a text");
  const auto set = set_pod_setting(settings, name.substr(kPrefix.size()), value.text());
  if (set) return;
  warn(warnings, name,
       set.error().code == "unknown" ? set.error().text
                                     : fmt::format("is {} and {}", quoted(value.text()), set.error().text));
}

// For contradictory amounts: the API server would refuse a container whose request is above its limit.
void restore_amounts(const SidecarSettings& from, SidecarSettings& to) {
  to.cpu_request_milli = from.cpu_request_milli;
  to.cpu_limit_milli = from.cpu_limit_milli;
  to.memory_request_bytes = from.memory_request_bytes;
  to.memory_limit_bytes = from.memory_limit_bytes;
}

}  // namespace

bool has_pod_resources(const Pod& pod) {
  const json::Value resources = pod.spec().get("resources");
  return member(resources, "requests") != nullptr || member(resources, "limits") != nullptr;
}

SidecarSettings read_pod_settings(const Pod& pod, const SidecarSettings& defaults, std::vector<std::string>& warnings) {
  SidecarSettings settings = defaults;
  const json::Value annotations = pod.metadata().get("annotations");
  if (annotations.type() != json::Type::object) return settings;
  bool amounts = false;
  for (const json::Member& annotation : annotations.members()) {
    const std::string_view name = annotation.name;
    if (!name.starts_with(kPrefix) || std::ranges::find(kReserved, name) != kReserved.end()) continue;
    amounts = amounts || is_amount(name.substr(kPrefix.size()));
    read_annotation(name, annotation.value, settings, warnings);
  }
  if (const std::string wrong = contradiction(settings); !wrong.empty()) {
    warnings.push_back(
        fmt::format("the annotations {}* contradict each other: {}; the amounts are ignored", kPrefix, wrong));
    restore_amounts(defaults, settings);
  }
  if (amounts && has_pod_resources(pod)) {
    warnings.push_back(
        "the pod has resources for all containers (spec.resources), which the agent shares; the annotations for its "
        "amounts are ignored");
  }
  return settings;
}

}  // namespace sluice::server::injector
