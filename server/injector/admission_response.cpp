#include "server/injector/admission_response.hpp"

#include <cstdint>
#include <vector>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/base/utf8.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::injector {
namespace {

// Bytes. The API server cuts longer warnings.
constexpr std::size_t kMaxWarning = 256;

std::string cut(std::string_view text) {
  if (text.size() <= kMaxWarning) return std::string(text);
  return fmt::format("{}…", utf8_prefix(text, kMaxWarning - 3));
}

void write_warnings(json::Writer& out, const Injection& injection) {
  std::vector<std::string> texts;
  if (injection.skip && injection.skip->needs_warning()) {
    texts.push_back(cut(fmt::format("Sluice: the pod gets no agent: {}", injection.skip->text)));
  }
  for (const std::string& warning : injection.warnings) texts.push_back(cut(fmt::format("Sluice: {}", warning)));
  if (texts.empty()) return;
  out.key("warnings");
  out.texts(texts);
}

}  // namespace

std::string write_review(std::string_view uid, const Injection& injection) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("kind", "AdmissionReview");
  out.field("apiVersion", "admission.k8s.io/v1");
  out.key("response");
  out.begin_object();
  out.field("uid", uid);
  out.field("allowed", true);
  if (!injection.patch.empty()) {
    out.field("patchType", "JSONPatch");
    out.field("patch", to_base64(as_bytes(injection.patch)));
  }
  write_warnings(out, injection);
  out.key("auditAnnotations");
  out.begin_object();
  out.field("result", to_string(injection.result));
  if (injection.skip) {
    out.field("reason", to_string(injection.skip->reason));
    out.field("text", injection.skip->text);
  }
  out.end_object();
  out.end_object();
  out.end_object();
  return out.take();
}

std::string write_status(unsigned code, std::string_view reason, std::string_view message) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("kind", "Status");
  out.field("apiVersion", "v1");
  out.key("metadata");
  out.begin_object();
  out.end_object();
  out.field("status", "Failure");
  out.field("message", message);
  out.field("reason", reason);
  out.field("code", static_cast<std::int64_t>(code));
  out.end_object();
  return out.take();
}

}  // namespace sluice::server::injector
