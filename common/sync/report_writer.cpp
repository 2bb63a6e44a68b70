#include <algorithm>

#include <fmt/core.h>

#include "common/base/timestamp.hpp"
#include "common/base/utf8.hpp"
#include "common/json/writer.hpp"
#include "common/sync/report.hpp"

namespace sluice::sync {
namespace {

void write_text(json::Writer& out, std::string_view name, std::string_view text) {
  out.field(name, utf8_prefix(text, kMaxReportText));
}

void write_refusal(json::Writer& out, const SnapshotRefusal& refusal) {
  out.key("refusal");
  out.begin_object();
  out.field("revision", refusal.refused.revision);
  out.field("chain", refusal.refused.chain);
  out.field("code", refusal.code);
  write_text(out, "text", refusal.text);
  out.end_object();
}

void write_count(json::Writer& out, const UsageCount& count) {
  out.begin_object();
  out.field("tenant_id", count.tenant_id);
  out.field("policy_id", count.policy_id);
  out.field("outcome", count.outcome);
  out.field("count", count.count);
  out.end_object();
}

void write_subject(json::Writer& out, const ThrottledSubject& subject) {
  out.begin_object();
  out.field("tenant_id", subject.tenant_id);
  out.field("policy_id", subject.policy_id);
  out.field("subject", utf8_prefix(subject.subject, kMaxSubjectBytes));
  out.field("count", subject.count);
  out.end_object();
}

void write_unmatched(json::Writer& out, const UnmatchedResource& unmatched) {
  out.begin_object();
  out.field("tenant_id", unmatched.tenant_id);
  out.field("resource", utf8_prefix(unmatched.resource, kMaxSubjectBytes));
  out.field("count", unmatched.count);
  out.end_object();
}

void write_quota(json::Writer& out, const QuotaReached& reached) {
  out.begin_object();
  out.field("tenant_id", reached.tenant_id);
  out.field("policy_id", reached.policy_id);
  out.field("plan_id", reached.plan_id);
  out.field("limit", reached.limit);
  out.field("counter", reached.counter);
  out.field("subject", utf8_prefix(reached.subject, kMaxSubjectBytes));
  out.field("percent", reached.percent);
  out.field("quota", reached.quota);
  out.field("used", reached.used);
  out.field("from", format_timestamp(reached.from));
  out.field("to", format_timestamp(reached.to));
  out.end_object();
}

void write_key(json::Writer& out, const std::string& id) { out.text(id); }
void write_utilization(json::Writer& out, const Utilization& utilization) {
  out.begin_object();
  out.field("tenant_id", utilization.tenant_id);
  out.field("policy_id", utilization.policy_id);
  out.field("decisions", utilization.decisions);
  out.field("near_limit", utilization.near_limit);
  out.field("used", utilization.used);
  out.end_object();
}

// How many entries the reports that follow may have.
struct Room {
  std::size_t subjects = kMaxSubjectsAtOnce;
  std::size_t unmatched = kMaxUnmatchedAtOnce;
  std::size_t quotas = kMaxQuotaMarksAtOnce;
  std::size_t keys = kMaxKeysAtOnce;
  std::size_t utilization = kMaxUtilizationsAtOnce;
};

// Writes nothing if there are no entries.
template <class Entry>
void write_entries(json::Writer& out, std::string_view name, const std::vector<Entry>& entries, std::size_t& room,
                   void (*write)(json::Writer&, const Entry&)) {
  const auto kept = std::span(entries).first(std::min(room, entries.size()));
  room -= kept.size();
  if (kept.empty()) return;
  out.key(name);
  out.begin_list();
  for (const Entry& entry : kept) write(out, entry);
  out.end_list();
}

void write_usage(json::Writer& out, const UsageReport& report, Room& room) {
  out.begin_object();
  out.field("number", report.number);
  out.field("from", format_timestamp(report.from));
  out.field("to", format_timestamp(report.to));
  out.key("counts");
  out.begin_list();
  for (const UsageCount& count : report.counts) write_count(out, count);
  out.end_list();
  write_entries(out, "subjects", report.subjects, room.subjects, &write_subject);
  write_entries(out, "unmatched", report.unmatched, room.unmatched, &write_unmatched);
  write_entries(out, "quotas", report.quotas, room.quotas, &write_quota);
  write_entries(out, "keys", report.keys, room.keys, &write_key);
  write_entries(out, "utilization", report.utilization, room.utilization, &write_utilization);
  out.end_object();
}

}  // namespace

std::string write_report(const AgentState& agent, std::span<const UsageReport> reports) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("agent_id", agent.agent_id);
  out.field("pod", agent.pod);
  out.field("boot_id", agent.boot_id);
  out.field("version", agent.version);
  if (agent.enforced) {
    out.field("revision", agent.enforced->revision);
    out.field("chain", agent.enforced->chain);
  }
  if (!agent.counters_generation.empty()) out.field("counters_generation", agent.counters_generation);
  out.key("degraded");
  out.begin_list();
  for (std::size_t i = 0; i < std::min(agent.degraded.size(), kMaxDegraded); ++i) {
    out.text(utf8_prefix(agent.degraded[i], kMaxReportText));
  }
  out.end_list();
  if (agent.refusal) write_refusal(out, *agent.refusal);
  if (agent.leaving) out.field("leaving", true);
  out.key("reports");
  out.begin_list();
  Room room;
  for (const UsageReport& report : reports) write_usage(out, report, room);
  out.end_list();
  out.end_object();
  return out.take();
}

std::string write_report_reply(std::int64_t stored) { return fmt::format(R"({{"stored":{}}})", stored); }

}  // namespace sluice::sync
