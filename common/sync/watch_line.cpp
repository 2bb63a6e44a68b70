#include "common/sync/watch_line.hpp"

#include <fmt/core.h>

#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/writer.hpp"

namespace sluice::sync {
namespace {

void write_position(json::Writer& out, const Position& head) {
  out.field("revision", head.revision);
  out.field("chain", head.chain);
}

void write_traced(json::Writer& out, const TracedChanges& traced) {
  out.field("traceparent", traced.newest());
  if (!traced.earlier().empty()) {
    out.key("earlier");
    out.begin_list();
    for (const std::string& each : traced.earlier()) out.text(each);
    out.end_list();
  }
  if (traced.dropped() > 0) out.field("earlier_dropped", traced.dropped());
}

std::optional<std::chrono::milliseconds> read_ms(json::Fields& fields, std::string_view name,
                                                 std::chrono::milliseconds min, std::chrono::milliseconds max) {
  const auto value = fields.integer(name, min.count(), max.count());
  return value ? std::optional(std::chrono::milliseconds(*value)) : std::nullopt;
}

// A trace is no reason to refuse a line: what is no short text or number counts as absent.
std::string traceparent_of(const json::Value* value) {
  if (value == nullptr || value->type() != json::Type::string || value->text().size() > kMaxTraceparent) return {};
  return std::string(value->text());
}

std::int64_t count_of(const json::Value* value) {
  std::uint32_t count = 0;
  if (value == nullptr || value->type() != json::Type::number) return 0;
  const std::string_view text = value->text();
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  return fault == std::errc() && end == text.data() + text.size() ? count : 0;
}

TracedChanges read_traced(json::Fields& fields) {
  TracedChanges traced;
  traced.add_dropped(count_of(fields.take("earlier_dropped")));
  if (const json::Value* const earlier = fields.take("earlier"); earlier && earlier->type() == json::Type::array) {
    for (const json::Value& each : earlier->items()) traced.add(traceparent_of(&each));
  }
  traced.add(traceparent_of(fields.take("traceparent")));
  return traced;
}

void read_tenants(json::Fields& fields, json::FaultList& faults, Heartbeat& out) {
  const json::Value* const value = fields.take("tenants");
  if (value == nullptr) return;
  const json::Place at = fields.at().member("tenants");
  json::Fields tenants(*value, at, faults);
  LiveAgents& live = out.live_agents.emplace();
  for (const json::Member& member : tenants.members()) {
    if (!is_id(member.name) && member.name != kEveryTenant) {
      tenants.fault(member.name, fmt::format("{} is not a valid tenant id", quoted(member.name)));
    }
    const auto agents = tenants.integer(member.name, 0, std::numeric_limits<std::int64_t>::max());
    if (agents) live.emplace(member.name, *agents);
  }
}

WatchLine read_whatif(const json::Value& value, const json::Place& at, json::FaultList& faults) {
  json::Fields fields(value, at, faults);
  return fields.is_object() ? read_question(fields).value_or(WhatIfQuestion()) : WhatIfQuestion();
}

WatchLine read_line(json::Fields& fields, json::FaultList& faults) {
  if (const json::Value* const question = fields.take("whatif")) {
    return read_whatif(*question, fields.at().member("whatif"), faults);
  }
  const Position head = read_position(fields);
  if (!fields.boolean("heartbeat").value_or(false)) {
    const auto spread = read_ms(fields, "spread_ms", std::chrono::milliseconds(0), kMaxSpread);
    return Announcement{
        .head = head, .spread = spread.value_or(std::chrono::milliseconds(0)), .traced = read_traced(fields)};
  }
  Heartbeat heartbeat{.head = head, .live_agents = {}, .reconnect_max = {}};
  heartbeat.reconnect_max = read_ms(fields, "reconnect_max_ms", std::chrono::milliseconds(1), kMaxReconnect);
  read_tenants(fields, faults, heartbeat);
  return heartbeat;
}

}  // namespace

std::string write_line(const Announcement& line) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  write_position(out, line.head);
  out.field("spread_ms", std::int64_t{line.spread.count()});
  if (!line.traced.empty()) write_traced(out, line.traced);
  out.end_object();
  return out.take() + '\n';
}

std::string write_line(const Heartbeat& line) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("heartbeat", true);
  write_position(out, line.head);
  if (line.live_agents) {
    out.key("tenants");
    out.begin_object();
    for (const auto& [tenant_id, agents] : *line.live_agents) out.field(tenant_id, agents);
    out.end_object();
  }
  if (line.reconnect_max) out.field("reconnect_max_ms", std::int64_t{line.reconnect_max->count()});
  out.end_object();
  return out.take() + '\n';
}

std::string write_line(const WhatIfQuestion& line) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.key("whatif");
  write_question(out, line);
  out.end_object();
  return out.take() + '\n';
}

std::expected<WatchLine, Faults> parse_watch_line(std::string_view line) {
  if (line.size() > kMaxWatchLineBytes) return std::unexpected(Faults{{"", "the line is too long"}});
  json::Tree tree;
  const auto document = tree.parse(line);
  if (!document) return std::unexpected(Faults{document.error()});
  json::FaultList faults;
  const json::Place whole;
  json::Fields fields(*document, whole, faults);
  if (!fields.is_object()) return std::unexpected(faults.take());
  WatchLine read = read_line(fields, faults);
  if (faults.count() != 0) return std::unexpected(faults.take());
  return read;
}

Result<> LineSplitter::feed(std::string_view bytes, std::vector<std::string>& lines) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > kMaxWatchLineBytes) {
      return failure("watch_line_too_long",
                     fmt::format("a line of the watch stream is longer than {} MiB", kMaxWatchLineBytes >> 20));
    }
    line_.append(part);
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    if (!line_.empty()) lines.push_back(std::exchange(line_, {}));
  }
  return {};
}

}  // namespace sluice::sync
