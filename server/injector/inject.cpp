#include "server/injector/inject.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/utf8.hpp"
#include "common/json/patch.hpp"
#include "common/json/pointer.hpp"
#include "common/json/text.hpp"
#include "server/injector/container_patch.hpp"
#include "server/injector/names.hpp"
#include "server/injector/pod.hpp"
#include "server/injector/pod_settings.hpp"
#include "server/injector/sidecar.hpp"
#include "server/injector/sidecar_patch.hpp"

namespace sluice::server::injector {
namespace {

constexpr std::string_view kAnnotations = "/metadata/annotations";
constexpr std::size_t kMaxJoinedBytes = 4'096;

// Replaces control characters, because the API server sends warnings to its client in an HTTP header.
std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return text;
}

std::string joined(const std::vector<std::string>& warnings) {
  std::string text = fmt::format("{}", fmt::join(warnings, "; "));
  if (text.size() <= kMaxJoinedBytes) return text;
  return fmt::format("{}…", utf8_prefix(text, kMaxJoinedBytes));
}

class Annotations {
 public:
  Annotations(json::Patch& patch, const Pod& pod)
      : patch_(patch), pod_(pod), exists_(member(pod.metadata(), "annotations") != nullptr) {}

  // An empty value removes the annotation.
  void set(std::string_view name, std::string_view value) {
    const json::Value* const there = pod_.annotation(name);
    if (value.empty()) {
      if (there != nullptr) patch_.remove(json::pointer_to(kAnnotations, name));
      return;
    }
    if (there != nullptr && there->type() == json::Type::string && there->text() == value) return;
    create();
    patch_.add(json::pointer_to(kAnnotations, name), json::string_literal(value));
  }

 private:
  void create() {
    if (exists_) return;
    if (pod_.metadata().type() == json::Type::null) patch_.add("/metadata", "{}");
    patch_.add(kAnnotations, "{}");
    exists_ = true;
  }

  json::Patch& patch_;
  const Pod& pod_;
  bool exists_;
};

// Leaves the webhook's word on a pod that is skipped, for scans that see only metadata. An annotation that the pod
// brought with it does not count.
void annotate_skipped(Annotations& annotations, const Pod& pod, const Skip& skip) {
  if (!skip.may_annotate() || pod.sidecar()) return;
  annotations.set(kInjected, "");
  annotations.set(kSkipped, skip.needs_warning() ? to_string(skip.reason) : "");
  if (skip.needs_warning()) annotations.set(kWarnings, std::string(kSkippedWarning) + on_one_line(skip.text));
}

}  // namespace

std::string_view to_string(Injection::Result result) {
  switch (result) {
    case Injection::Result::injected:
      return "injected";
    case Injection::Result::updated:
      return "updated";
    case Injection::Result::unchanged:
      return "unchanged";
    case Injection::Result::skipped:
      return "skipped";
  }
  return "";
}

Injection inject(const json::Value& root, std::string_view namespace_, const InjectorSettings& settings,
                 std::string_view traceparent) {
  const Pod pod(root);
  Injection made;
  json::Patch patch;
  Annotations annotations(patch, pod);
  if ((made.skip = find_skip(pod, namespace_, settings))) {
    annotate_skipped(annotations, pod, *made.skip);
    made.result = Injection::Result::skipped;
    made.patch = std::move(patch).take();
    return made;
  }
  const SidecarSettings sidecar = read_pod_settings(pod, settings.sidecar, made.warnings);
  patch_containers(patch, pod, made.warnings);
  patch_volumes(patch, pod, sidecar_volumes(settings));
  patch_sidecar(
      patch, pod,
      sidecar_container(settings, sidecar, !has_pod_resources(pod), pod.sidecar() ? std::string_view() : traceparent));
  for (std::string& warning : made.warnings) warning = on_one_line(std::move(warning));
  annotations.set(kServerCa, settings.server_ca);
  annotations.set(kCountersCa, settings.counters_ca);
  annotations.set(kWarnings, joined(made.warnings));
  annotations.set(kSkipped, "");
  annotations.set(kInjected, settings.version);
  using Result = Injection::Result;
  made.result = !pod.sidecar() ? Result::injected : patch.empty() ? Result::unchanged : Result::updated;
  made.patch = std::move(patch).take();
  return made;
}

}  // namespace sluice::server::injector
