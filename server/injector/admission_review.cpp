#include "server/injector/admission_review.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "server/injector/pod.hpp"

namespace sluice::server::injector {
namespace {

constexpr std::string_view kVersion = "admission.k8s.io/v1";
constexpr std::string_view kKind = "AdmissionReview";
constexpr std::size_t kMaxUid = 256;

using Operation = AdmissionRequest::Operation;
constexpr std::array<std::pair<std::string_view, Operation>, 4> kOperations{{{"CREATE", Operation::create},
                                                                             {"UPDATE", Operation::update},
                                                                             {"DELETE", Operation::delete_},
                                                                             {"CONNECT", Operation::connect}}};

using MaybeError = std::optional<Error>;

Error malformed(std::string text) { return {"malformed", std::move(text)}; }

MaybeError find_duplicate(const json::Value& object, std::string_view what) {
  for (const json::Member& part : object.members()) {
    if (part.duplicate) return malformed(fmt::format("{} has {} twice: keep one", what, quoted(part.name)));
  }
  return std::nullopt;
}

Result<std::string_view> text_of(const json::Value& object, std::string_view name, std::string_view pointer) {
  const json::Value* const found = member(object, name);
  if (found == nullptr) return failure("malformed", fmt::format("{} is missing", pointer));
  if (found->type() != json::Type::string) {
    return failure("malformed", json::wrong_type_text(pointer, *found, "a string"));
  }
  return found->text();
}

MaybeError check_envelope(const json::Value& root) {
  if (root.type() != json::Type::object)
    return malformed(json::wrong_type_text("the body", root, "an AdmissionReview object"));
  if (auto twice = find_duplicate(root, "the AdmissionReview")) return twice;
  const auto kind = text_of(root, "kind", "/kind");
  if (!kind) return kind.error();
  const auto version = text_of(root, "apiVersion", "/apiVersion");
  if (!version) return version.error();
  if (*kind != kKind) {
    return Error{"wrong_kind", fmt::format("/kind must be {}, not {}", kKind, quoted(*kind))};
  }
  if (*version != kVersion) {
    return Error{"wrong_version", fmt::format("/apiVersion must be {}, not {}: the webhook's admissionReviewVersions "
                                              "must be [\"v1\"]",
                                              kVersion, quoted(*version))};
  }
  return std::nullopt;
}

MaybeError check_kind(const json::Value& request) {
  const json::Value kind = request.get("kind");
  if (kind.type() != json::Type::object) {
    return malformed("/request/kind is missing or is not an object: it must hold group, version and kind");
  }
  const std::string_view group = kind.text_of("group");
  const std::string_view version = kind.text_of("version");
  const std::string_view name = kind.text_of("kind");
  if (group.empty() && version == "v1" && name == "Pod") return std::nullopt;
  return Error{"wrong_kind", fmt::format("/request/kind is {} of {}, and this webhook is for Pods of v1: its rules "
                                         "must name pods only",
                                         quoted(name), quoted(fmt::format("{}/{}", group, version)))};
}

MaybeError read_uid(const json::Value& request, AdmissionRequest& out) {
  const auto uid = text_of(request, "uid", "/request/uid");
  if (!uid) return uid.error();
  if (uid->empty() || uid->size() > kMaxUid) {
    return Error{"no_uid", fmt::format("/request/uid must be a text of 1 to {} bytes; the answer repeats it", kMaxUid)};
  }
  out.uid = *uid;
  return std::nullopt;
}

MaybeError read_operation(const json::Value& request, AdmissionRequest& out) {
  const auto text = text_of(request, "operation", "/request/operation");
  if (!text) return text.error();
  const auto found = std::ranges::find(kOperations, *text, [](const auto& pair) { return pair.first; });
  if (found == kOperations.end()) {
    return malformed(
        fmt::format("/request/operation must be CREATE, UPDATE, DELETE or CONNECT, not {}", quoted(*text)));
  }
  out.operation = found->second;
  return std::nullopt;
}

MaybeError read_optional(const json::Value& request, AdmissionRequest& out) {
  if (const json::Value* const dry_run = member(request, "dryRun")) {
    if (dry_run->type() != json::Type::boolean) {
      return malformed(json::wrong_type_text("/request/dryRun", *dry_run, "true or false"));
    }
    out.dry_run = dry_run->boolean();
  }
  if (const json::Value* const subresource = member(request, "subResource")) {
    if (subresource->type() != json::Type::string) {
      return malformed(json::wrong_type_text("/request/subResource", *subresource, "a string"));
    }
    out.subresource = subresource->text();
  }
  return std::nullopt;
}

MaybeError check_list(const json::Value& object, std::string_view name, std::string_view at) {
  const json::Value* const list = member(object, name);
  if (list == nullptr) return std::nullopt;
  if (list->type() != json::Type::array)
    return malformed(json::wrong_type_text(fmt::format("{}/{}", at, name), *list, "a list"));
  for (const json::Value& item : list->items()) {
    if (item.type() != json::Type::object) return malformed(fmt::format("{}/{} must be a list of objects", at, name));
  }
  return std::nullopt;
}

MaybeError check_object(const json::Value& parent, std::string_view name, std::string_view at, bool required) {
  const json::Value* const found = member(parent, name);
  if (found == nullptr && !required) return std::nullopt;
  if (found != nullptr && found->type() == json::Type::object) return std::nullopt;
  return malformed(fmt::format("{}/{} is missing or is not an object: this is not a Pod", at, name));
}

MaybeError check_containers(const json::Value& spec, std::string_view kind) {
  const std::string at = "/request/object/spec";
  if (auto wrong = check_list(spec, kind, at)) return wrong;
  for (const json::Value& container : spec.items_of(kind)) {
    for (const std::string_view list : {"env", "volumeMounts", "ports"}) {
      if (auto wrong = check_list(container, list, fmt::format("{}/{}/…", at, kind))) return wrong;
    }
  }
  return std::nullopt;
}

MaybeError read_pod(const json::Value& request, AdmissionRequest& out) {
  constexpr std::string_view kAt = "/request/object";
  const json::Value* const pod = member(request, "object");
  if (pod == nullptr) return malformed("/request/object is missing: a CREATE has the pod there");
  for (const std::string_view part : {"metadata", "spec"}) {
    if (auto wrong = check_object(*pod, part, kAt, true)) return wrong;
  }
  for (const std::string_view part : {"annotations", "labels"}) {
    if (auto wrong = check_object(pod->get("metadata"), part, "/request/object/metadata", false)) return wrong;
  }
  const json::Value spec = pod->get("spec");
  for (const std::string_view kind : {"containers", "initContainers"}) {
    if (auto wrong = check_containers(spec, kind)) return wrong;
  }
  if (auto wrong = check_list(spec, "volumes", "/request/object/spec")) return wrong;
  out.pod = pod;
  return std::nullopt;
}

MaybeError read_request(const json::Value& root, AdmissionRequest& out) {
  if (auto wrong = check_envelope(root)) return wrong;
  const json::Value request = root.get("request");
  if (request.type() != json::Type::object) return malformed("/request is missing or is not an object");
  if (auto twice = find_duplicate(request, "/request")) return twice;
  for (const auto read : {read_uid, read_operation, read_optional}) {
    if (auto wrong = read(request, out)) return wrong;
  }
  if (auto wrong = check_kind(request)) return wrong;
  const auto space = text_of(request, "namespace", "/request/namespace");
  if (!space) return space.error();
  if (space->empty()) return malformed("/request/namespace is empty: every pod is in one");
  out.namespace_ = *space;
  const bool creates = out.operation == Operation::create && out.subresource.empty();
  return creates ? read_pod(request, out) : std::nullopt;
}

}  // namespace

Result<AdmissionRequest> read_review(std::string_view body, json::Tree& tree) {
  const auto root = tree.parse(body);
  if (!root) {
    const Fault& fault = root.error();
    return failure("malformed",
                   fmt::format("the body is {} (line {}, column {})", fault.text, fault.line, fault.column));
  }
  AdmissionRequest request;
  if (auto wrong = read_request(*root, request)) return std::unexpected(*std::move(wrong));
  return request;
}

Injection decide(const AdmissionRequest& request, const InjectorSettings& settings, std::string_view traceparent) {
  if (request.pod != nullptr) return inject(*request.pod, request.namespace_, settings, traceparent);
  Injection made;
  made.result = Injection::Result::skipped;
  made.skip = Skip{SkipReason::not_a_create, "an existing pod cannot get more containers"};
  return made;
}

}  // namespace sluice::server::injector
