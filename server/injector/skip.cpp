#include "server/injector/skip.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "server/injector/names.hpp"

namespace sluice::server::injector {
namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::array<std::string_view, 3> kVolumes{kSocketVolume, kStateVolume, kIdentityVolume};

std::optional<Skip> skip(SkipReason reason, std::string text) { return Skip{reason, std::move(text)}; }

bool has_opted_out(const Pod& pod) { return pod.label(kInjectLabel) == "disabled"; }

bool is_tcp(const json::Value& port) {
  const std::string_view protocol = port.text_of("protocol");
  return protocol.empty() || protocol == "TCP";
}

// 0: the container declares no port of the agent.
std::int64_t clashing_port(const json::Value& container) {
  for (const json::Value& port : container.items_of("ports")) {
    const auto number = integer_member(port, "containerPort");
    if (number && (*number == kCheckPort || *number == kAdminPort) && is_tcp(port)) return *number;
  }
  return 0;
}

std::optional<Skip> find_port_clash(std::span<const json::Value> containers, const json::Value* ours) {
  for (const json::Value& container : containers) {
    if (&container == ours) continue;
    if (const std::int64_t port = clashing_port(container)) {
      return skip(
          SkipReason::port_clash,
          fmt::format("its container {} listens on port {}, which the agent needs ({} for checks, {} for probes):"
                      " make it listen on another port",
                      quoted(container.text_of("name")), port, kCheckPort, kAdminPort));
    }
  }
  return std::nullopt;
}

std::optional<Skip> find_clash(const Pod& pod) {
  const auto sidecar = pod.sidecar();
  const json::Value* const ours = sidecar ? &pod.init_containers()[*sidecar] : nullptr;
  if (find_item(pod.containers(), "name", kContainer) ||
      (!sidecar && find_item(pod.init_containers(), "name", kContainer))) {
    return skip(SkipReason::name_clash,
                fmt::format("it has a container called {} that the injector did not add: rename it", kContainer));
  }
  for (const std::string_view volume : kVolumes) {
    if (!sidecar && find_item(pod.spec().items_of("volumes"), "name", volume)) {
      return skip(SkipReason::volume_clash,
                  fmt::format("it has a volume called {} that the injector did not make: rename it", volume));
    }
  }
  if (auto clash = find_port_clash(pod.containers(), ours)) return clash;
  return find_port_clash(pod.init_containers(), ours);
}

}  // namespace

std::string_view to_string(SkipReason reason) {
  constexpr std::array<std::string_view, kSkipReasons> kNames{"opted_out",    "namespace",    "mirror_pod",
                                                              "host_network", "windows",      "port_clash",
                                                              "name_clash",   "volume_clash", "not_a_create"};
  return kNames[static_cast<std::size_t>(reason)];
}

bool Skip::needs_warning() const {
  return reason != SkipReason::opted_out && reason != SkipReason::namespace_ && reason != SkipReason::mirror_pod &&
         reason != SkipReason::not_a_create;
}

bool Skip::may_annotate() const { return reason != SkipReason::namespace_ && reason != SkipReason::mirror_pod; }

bool is_excluded(std::string_view namespace_, const InjectorSettings& settings) {
  return namespace_ == settings.own_namespace ||
         std::ranges::find(kSystemNamespaces, namespace_) != kSystemNamespaces.end();
}

bool was_missed(const Pod& pod) {
  const bool reviewed = pod.annotation(kInjected) != nullptr || pod.annotation(kSkipped) != nullptr;
  return !reviewed && pod.annotation(kMirror) == nullptr && !has_opted_out(pod);
}

std::string_view why_skipped(const Pod& pod) {
  if (pod.annotation(kInjected) != nullptr || pod.annotation(kSkipped) == nullptr || has_opted_out(pod)) return {};
  const json::Value annotations = pod.metadata().get("annotations");
  std::string_view text = annotations.text_of(kWarnings);
  if (text.starts_with(kSkippedWarning)) text.remove_prefix(kSkippedWarning.size());
  return text.empty() ? annotations.text_of(kSkipped) : text;
}

std::optional<Skip> find_skip(const Pod& pod, std::string_view namespace_, const InjectorSettings& settings) {
  if (is_excluded(namespace_, settings)) {
    return skip(SkipReason::namespace_,
                fmt::format("pods of the namespace {} never get an agent, whatever its labels say", namespace_));
  }
  if (has_opted_out(pod)) {
    return skip(SkipReason::opted_out, fmt::format("its label {} says disabled", kInjectLabel));
  }
  if (pod.annotation(kMirror) != nullptr) {
    return skip(SkipReason::mirror_pod, "it mirrors a static pod, which only its file on the node can change");
  }
  if (pod.spec().get("os").text_of("name") == "windows") {
    return skip(SkipReason::windows, "it is for Windows, and the agent is a Linux program");
  }
  if (pod.spec().is_true("hostNetwork")) {
    return skip(SkipReason::host_network, std::string(kHostNetworkText));
  }
  return find_clash(pod);
}

}  // namespace sluice::server::injector
