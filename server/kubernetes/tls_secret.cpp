#include "server/kubernetes/tls_secret.hpp"

#include <array>
#include <utility>

#include "common/base/crypto.hpp"
#include "common/base/timestamp.hpp"
#include "common/json/tree.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::kubernetes {
namespace {

constexpr std::string_view kFormerUntil = "sluice.dev/former-ca-until";
constexpr std::string_view kRenew = "sluice.dev/renew";

std::string bytes_at(const json::Value& data, std::string_view name) {
  const auto bytes = from_base64(data.text_of(name));
  return bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
}

std::string first_certificate(const std::string& text) {
  auto all = split_certificates(text);
  return all.empty() ? std::string() : std::move(all.front());
}

std::chrono::sys_seconds time_at(const json::Value& annotations, std::string_view name) {
  const auto time = parse_timestamp(annotations.text_of(name));
  return time ? std::chrono::floor<std::chrono::seconds>(*time) : std::chrono::sys_seconds{};
}

Renewal renewal_in(std::string_view text) {
  if (text == "certificate") return Renewal::certificate;
  return text == "ca" ? Renewal::authority : Renewal::none;
}

enum class Form : std::uint8_t { whole, merge_patch };

// A merge patch keeps fields that it does not name. To remove a field, it gives the field the value null.
void write_value(json::Writer& writer, Form form, std::string_view name, std::string_view value) {
  if (!value.empty()) {
    writer.field(name, value);
  } else if (form == Form::merge_patch) {
    writer.null_field(name);
  }
}

void write_annotations(json::Writer& writer, Form form, const TlsSecret& secret) {
  writer.key("annotations");
  writer.begin_object();
  write_value(writer, form, kFormerUntil,
              secret.former.empty() ? std::string() : format_timestamp(secret.former_until));
  // Once a renewal that the annotation asked for is done, `requested` is none, and a merge patch removes the
  // annotation.
  if (secret.requested == Renewal::none) write_value(writer, form, kRenew, "");
  writer.end_object();
}

void write_data(json::Writer& writer, Form form, const TlsSecret& secret) {
  writer.key("data");
  writer.begin_object();
  const std::array<std::pair<std::string_view, std::string>, 8> values{{{"tls.crt", secret.chain()},
                                                                        {"tls.key", secret.leaf.key},
                                                                        {"ca.crt", secret.trusted()},
                                                                        {"ca.key", secret.authority.key},
                                                                        {"ca-next.crt", secret.next.certificate},
                                                                        {"ca-next.key", secret.next.key},
                                                                        {"ca-former.crt", secret.former},
                                                                        {"ca-bridge.crt", secret.bridges}}};
  for (const auto& [name, value] : values) write_value(writer, form, name, to_base64(as_bytes(value)));
  writer.end_object();
}

}  // namespace

Result<TlsSecret> read_tls_secret(std::string_view object) {
  json::Tree tree;
  const json::Value document = tree.parse(object).value_or(json::Value());
  const json::Value metadata = document.get("metadata");
  TlsSecret secret;
  secret.version = metadata.text_of("resourceVersion");
  if (secret.version.empty()) return failure("unexpected", "the Kubernetes API's answer is not a Secret");
  const json::Value data = document.get("data");
  const json::Value annotations = metadata.get("annotations");
  secret.authority = {first_certificate(bytes_at(data, "ca.crt")), bytes_at(data, "ca.key")};
  secret.next = {bytes_at(data, "ca-next.crt"), bytes_at(data, "ca-next.key")};
  secret.former = bytes_at(data, "ca-former.crt");
  secret.former_until = time_at(annotations, kFormerUntil);
  secret.bridges = bytes_at(data, "ca-bridge.crt");
  secret.leaf = {first_certificate(bytes_at(data, "tls.crt")), bytes_at(data, "tls.key")};
  secret.requested = renewal_in(annotations.text_of(kRenew));
  return secret;
}

std::string create_tls_secret(const TlsSecret& secret, std::string_view name) {
  json::Writer writer(json::Writer::Layout::compact);
  writer.begin_object();
  writer.field("apiVersion", "v1");
  writer.field("kind", "Secret");
  writer.field("type", "kubernetes.io/tls");
  writer.key("metadata");
  writer.begin_object();
  writer.field("name", name);
  writer.key("labels");
  writer.begin_object();
  writer.field("app.kubernetes.io/name", "sluice-server");
  writer.field("app.kubernetes.io/part-of", "sluice");
  writer.field("app.kubernetes.io/managed-by", "sluice-server");
  writer.end_object();
  write_annotations(writer, Form::whole, secret);
  writer.end_object();
  write_data(writer, Form::whole, secret);
  writer.end_object();
  return writer.take();
}

std::string patch_tls_secret(const TlsSecret& secret) {
  json::Writer writer(json::Writer::Layout::compact);
  writer.begin_object();
  writer.key("metadata");
  writer.begin_object();
  writer.field("resourceVersion", secret.version);
  write_annotations(writer, Form::merge_patch, secret);
  writer.end_object();
  write_data(writer, Form::merge_patch, secret);
  writer.end_object();
  return writer.take();
}

}  // namespace sluice::server::kubernetes
