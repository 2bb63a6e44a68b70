#include "server/kubernetes/events.hpp"

#include <utility>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/base/percent_encoding.hpp"
#include "common/base/timestamp.hpp"
#include "common/base/utf8.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::kubernetes {
namespace {

constexpr std::chrono::milliseconds kEventDeadline{5'000};
constexpr std::size_t kMaxMessageBytes = 1'024;  // the API's own limit
constexpr std::size_t kMaxPodNameBytes = 200;    // '.' and 16 digits follow; an Event's name may have 253 bytes
constexpr unsigned kEventExists = 409;

std::string name_of(const ObjectReference& about, const Event& event) {
  const std::string digits = to_hex(sha256(about.uid + "/" + event.reason));
  std::string_view name = std::string_view(about.name).substr(0, kMaxPodNameBytes);
  while (name.ends_with('-') || name.ends_with('.')) name.remove_suffix(1);  // a cut name must not end with these
  return fmt::format("{}.{}", name, digits.substr(0, 16));
}

void write_reference(json::Writer& writer, const ObjectReference& about) {
  writer.key("involvedObject");
  writer.begin_object();
  writer.field("apiVersion", about.api_version);
  writer.field("kind", about.kind);
  writer.field("namespace", about.namespace_);
  writer.field("name", about.name);
  writer.field("uid", about.uid);
  writer.end_object();
}

}  // namespace

std::string events_path(const ObjectReference& about) {
  return fmt::format("/api/v1/namespaces/{}/events", percent_encode(about.namespace_));
}

std::string write_event(const ObjectReference& about, const Event& event, std::chrono::sys_seconds now) {
  const std::string time = format_timestamp(now);
  json::Writer writer(json::Writer::Layout::compact);
  writer.begin_object();
  writer.field("apiVersion", "v1");
  writer.field("kind", "Event");
  writer.key("metadata");
  writer.begin_object();
  writer.field("name", name_of(about, event));
  writer.field("namespace", about.namespace_);
  writer.end_object();
  write_reference(writer, about);
  writer.field("type", event.type == Event::Type::warning ? "Warning" : "Normal");
  writer.field("reason", event.reason);
  writer.field("message", utf8_prefix(event.message, kMaxMessageBytes));
  writer.field("firstTimestamp", time);
  writer.field("lastTimestamp", time);
  writer.field("count", std::int64_t{1});
  writer.key("source");
  writer.begin_object();
  writer.field("component", "sluice-server");
  writer.end_object();
  writer.field("reportingComponent", "sluice.dev/server");
  writer.field("reportingInstance", "sluice-server");
  writer.end_object();
  return writer.take();
}

void create_event(Api& api, const ObjectReference& about, const Event& event, std::chrono::sys_seconds now,
                  std::function<void(Result<bool>)> done) {
  const auto on_answer = [callback = std::move(done)](Result<ApiResponse> answer) {
    if (!answer) return callback(std::unexpected(std::move(answer.error())));
    if (answer->status == kEventExists) return callback(false);
    if (answer->status >= 300) return callback(failure("refused", error_text(*answer)));
    callback(true);
  };
  api.send("POST", events_path(about), write_event(about, event, now), kEventDeadline, on_answer);
}

}  // namespace sluice::server::kubernetes
