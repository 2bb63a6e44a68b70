#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/fault_place.hpp"
#include "common/json/fields.hpp"
#include "common/sync/report.hpp"

namespace sluice::sync {
namespace {

constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7F'; });
}

// [a-z][a-z0-9_]{0,62}
bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes && text.front() >= 'a' && text.front() <= 'z' &&
         std::ranges::all_of(text, [](char c) { return identifiers::is_alnum(c) || c == '_'; });
}

class ReportReader {
 public:
  std::expected<ReportDocument, Faults> read(const json::Value& root) {
    const json::Place whole;
    json::Fields fields(root, whole, faults_);
    if (fields.is_object()) {
      read_agent(fields);
      fields.require("reports", "a list, which may be empty");
      fields.each("reports", false, [&](const json::Value& value, const json::Place& at) { read_usage(value, at); });
      check_bounds(fields);
    }
    if (faults_.count() != 0) return std::unexpected(faults_.take());
    return std::move(out_);
  }

 private:
  void read_agent(json::Fields& fields) {
    AgentState& agent = out_.agent;
    agent.agent_id = read_name(fields, "agent_id", true);
    agent.pod = read_name(fields, "pod", false);
    agent.boot_id = read_name(fields, "boot_id", true);
    agent.version = read_name(fields, "version", true);
    agent.counters_generation = read_name(fields, "counters_generation", false);
    if (fields.present("revision") || fields.present("chain")) agent.enforced = read_position(fields);
    fields.each("degraded", false, [&](const json::Value& value, const json::Place& at) { read_reason(value, at); });
    if (agent.degraded.size() > kMaxDegraded) {
      fields.fault("degraded",
                   fmt::format("degraded has {} reasons: send at most {}", agent.degraded.size(), kMaxDegraded));
    }
    if (const json::Value* const refusal = fields.take("refusal"))
      read_refusal(*refusal, fields.at().member("refusal"));
    agent.leaving = fields.boolean("leaving").value_or(false);
  }

  std::string read_name(json::Fields& fields, std::string_view name, bool required) {
    if (required) fields.require(name, "every agent has one");
    const auto text = fields.text(name, kMaxAgentNameBytes);
    if (!text) return {};
    if (is_visible(*text) && !(required && text->empty())) return std::string(*text);
    fields.fault(name, fmt::format("{} must be {} to {} visible ASCII characters, not {}", name, required ? 1 : 0,
                                   kMaxAgentNameBytes, quoted(*text)));
    return {};
  }

  std::string read_word(json::Fields& fields, std::string_view name) {
    fields.require(name, "a word of a-z 0-9 _");
    const auto text = fields.text(name, kMaxReportText);
    if (text && !is_word(*text)) {
      fields.fault(name, fmt::format("{} must be 1 to {} characters from a-z 0-9 _, starting with a letter; got {}",
                                     name, kMaxIdBytes, quoted(*text)));
    }
    return std::string(text.value_or(""));
  }

  void read_reason(const json::Value& value, const json::Place& at) {
    const bool is_text = value.type() == json::Type::string;
    if (!is_text || value.text().size() > kMaxReportText) {
      faults_.add(at, fmt::format("a reason must be a string of at most {} bytes", kMaxReportText));
    } else {
      out_.agent.degraded.emplace_back(value.text());
    }
  }

  void read_refusal(const json::Value& value, const json::Place& at) {
    json::Fields fields(value, at, faults_);
    SnapshotRefusal refusal;
    if (!fields.is_object()) return;
    refusal.refused = read_position(fields);
    refusal.code = read_word(fields, "code");
    refusal.text = fields.text("text", kMaxReportText).value_or("");
    out_.agent.refusal = std::move(refusal);
  }

  void read_usage(const json::Value& value, const json::Place& at) {
    json::Fields fields(value, at, faults_);
    UsageReport report;
    if (!fields.is_object()) return;
    for (const std::string_view name : {"number", "from", "to", "counts"}) fields.require(name, "every report has it");
    report.number = fields.integer("number", 1, kMaxNumber).value_or(0);
    const auto from = fields.timestamp("from");
    const auto to = fields.timestamp("to");
    if (from && to && *to < *from) fields.fault("to", "to must not be before from");
    report.from = from.value_or(WallTime());
    report.to = to.value_or(WallTime());
    if (!out_.reports.empty() && report.number != 0 && report.number <= out_.reports.back().number) {
      fields.fault("number", fmt::format("the numbers of reports must increase: {} follows {}", report.number,
                                         out_.reports.back().number));
    }
    fields.each("counts", false,
                [&](const json::Value& item, const json::Place& place) { read_count(item, place, report); });
    fields.each("subjects", false,
                [&](const json::Value& item, const json::Place& place) { read_subject(item, place, report); });
    fields.each("unmatched", false,
                [&](const json::Value& item, const json::Place& place) { read_unmatched(item, place, report); });
    fields.each("quotas", false,
                [&](const json::Value& item, const json::Place& place) { read_quota(item, place, report); });
    fields.each("keys", false,
                [&](const json::Value& item, const json::Place& place) { read_key(item, place, report); });
    fields.each("utilization", false,
                [&](const json::Value& item, const json::Place& place) { read_utilization(item, place, report); });
    out_.reports.push_back(std::move(report));
  }

  void read_count(const json::Value& value, const json::Place& at, UsageReport& report) {
    ++counts_;
    json::Fields fields(value, at, faults_);
    if (!fields.is_object()) return;
    UsageCount count;
    for (const std::string_view name : {"tenant_id", "count"}) fields.require(name, "every count has it");
    count.tenant_id = read_id(fields, "tenant_id", true);
    count.policy_id = read_id(fields, "policy_id", false);
    count.outcome = read_word(fields, "outcome");
    count.count = fields.integer("count", 1, kMaxCount).value_or(0);
    report.counts.push_back(std::move(count));
  }

  void read_subject(const json::Value& value, const json::Place& at, UsageReport& report) {
    ++subjects_;
    json::Fields fields(value, at, faults_);
    if (!fields.is_object()) return;
    ThrottledSubject subject;
    for (const std::string_view name : {"tenant_id", "subject", "count"}) fields.require(name, "every subject has it");
    subject.tenant_id = read_id(fields, "tenant_id", true);
    subject.policy_id = read_id(fields, "policy_id", false);
    subject.subject = fields.text("subject", kMaxSubjectBytes).value_or("");
    if (fields.present("subject") && subject.subject.empty()) fields.fault("subject", "subject must not be empty");
    subject.count = fields.integer("count", 1, kMaxCount).value_or(0);
    report.subjects.push_back(std::move(subject));
  }

  void read_unmatched(const json::Value& value, const json::Place& at, UsageReport& report) {
    ++unmatched_;
    json::Fields fields(value, at, faults_);
    if (!fields.is_object()) return;
    UnmatchedResource unmatched;
    for (const std::string_view name : {"tenant_id", "resource", "count"})
      fields.require(name, "every resource has it");
    unmatched.tenant_id = read_id(fields, "tenant_id", true);
    unmatched.resource = fields.text("resource", kMaxSubjectBytes).value_or("");
    if (fields.present("resource") && unmatched.resource.empty()) {
      fields.fault("resource", "resource must not be empty");
    }
    unmatched.count = fields.integer("count", 1, kMaxCount).value_or(0);
    report.unmatched.push_back(std::move(unmatched));
  }

  void read_quota(const json::Value& value, const json::Place& at, UsageReport& report) {
    ++quotas_;
    json::Fields fields(value, at, faults_);
    QuotaReached reached;
    if (!fields.is_object()) return;
    for (const std::string_view name : {"tenant_id", "limit", "counter", "percent", "quota", "used", "from", "to"}) {
      fields.require(name, "every reached quota has it");
    }
    reached.tenant_id = read_id(fields, "tenant_id", true);
    reached.policy_id = read_id(fields, "policy_id", false);
    reached.plan_id = read_id(fields, "plan_id", false);
    reached.limit = read_name(fields, "limit", true);
    reached.counter = read_name(fields, "counter", true);
    reached.subject = fields.text("subject", kMaxSubjectBytes).value_or("");
    reached.percent = fields.integer("percent", 1, 100).value_or(0);
    reached.quota = fields.integer("quota", 1, kMaxCount).value_or(0);
    reached.used = fields.integer("used", 1, kMaxCount).value_or(0);
    const auto from = fields.timestamp("from");
    const auto to = fields.timestamp("to");
    if (from && to && *to <= *from) fields.fault("to", "to must be after from");
    reached.from = from.value_or(WallTime());
    reached.to = to.value_or(WallTime());
    report.quotas.push_back(std::move(reached));
  }

  void read_key(const json::Value& value, const json::Place& at, UsageReport& report) {
    ++keys_;
    if (value.type() == json::Type::string && is_id(value.text())) {
      report.keys.emplace_back(value.text());
    } else {
      faults_.add(at, "must be the id of an API key: 1 to 63 characters from a-z 0-9 . -");
    }
  }

  void read_utilization(const json::Value& value, const json::Place& at, UsageReport& report) {
    ++utilization_;
    json::Fields fields(value, at, faults_);
    Utilization utilization;
    if (!fields.is_object()) return;
    for (const std::string_view name : {"tenant_id", "decisions", "near_limit", "used"}) {
      fields.require(name, "every utilization has it");
    }
    utilization.tenant_id = read_id(fields, "tenant_id", true);
    utilization.policy_id = read_id(fields, "policy_id", false);
    utilization.decisions = fields.integer("decisions", 1, kMaxCount).value_or(0);
    utilization.near_limit = fields.integer("near_limit", 0, kMaxCount).value_or(0);
    utilization.used = fields.integer("used", 0, kMaxCount).value_or(0);
    if (utilization.decisions > 0 && utilization.near_limit > utilization.decisions) {
      fields.fault("near_limit", fmt::format("near_limit is at most decisions; got {} of {}", utilization.near_limit,
                                             utilization.decisions));
    }
    report.utilization.push_back(std::move(utilization));
  }

  std::string read_id(json::Fields& fields, std::string_view name, bool required) {
    const auto text = fields.text(name, kMaxAgentNameBytes);
    if (text && !is_id(*text) && (required || !text->empty())) {
      fields.fault(name, fmt::format("{} is not a valid id: use 1 to 63 characters from a-z 0-9 . -", quoted(*text)));
    }
    return std::string(text.value_or(""));
  }

  void check_bounds(json::Fields& fields) {
    if (out_.reports.size() > kMaxReportsAtOnce) {
      fields.fault("reports",
                   fmt::format("{} reports in one request: send at most {}", out_.reports.size(), kMaxReportsAtOnce));
    }
    if (counts_ > kMaxCountsAtOnce) {
      fields.fault("reports", fmt::format("{} counts in one request: send at most {}", counts_, kMaxCountsAtOnce));
    }
    if (subjects_ > kMaxSubjectsAtOnce) {
      fields.fault("reports",
                   fmt::format("{} subjects in one request: send at most {}", subjects_, kMaxSubjectsAtOnce));
    }
    if (unmatched_ > kMaxUnmatchedAtOnce) {
      fields.fault("reports", fmt::format("{} unmatched resources in one request: send at most {}", unmatched_,
                                          kMaxUnmatchedAtOnce));
    }
    if (quotas_ > kMaxQuotaMarksAtOnce) {
      fields.fault("reports",
                   fmt::format("{} reached quotas in one request: send at most {}", quotas_, kMaxQuotaMarksAtOnce));
    }
    if (keys_ > kMaxKeysAtOnce) {
      fields.fault("reports", fmt::format("{} keys in one request: send at most {}", keys_, kMaxKeysAtOnce));
    }
    if (utilization_ > kMaxUtilizationsAtOnce) {
      fields.fault("reports", fmt::format("{} entries of utilization in one request: send at most {}", utilization_,
                                          kMaxUtilizationsAtOnce));
    }
  }

  json::FaultList faults_;
  ReportDocument out_;
  std::size_t counts_ = 0;
  std::size_t subjects_ = 0;
  std::size_t unmatched_ = 0;
  std::size_t quotas_ = 0;
  std::size_t keys_ = 0;
  std::size_t utilization_ = 0;
};

}  // namespace

std::expected<ReportDocument, Faults> parse_report(std::string_view json) {
  if (json.size() > kMaxReportBytes) {
    return std::unexpected(Faults{{"", fmt::format("the report is larger than {} MiB", kMaxReportBytes >> 20)}});
  }
  json::Tree tree;
  const auto root = tree.parse(json);
  if (!root) return std::unexpected(Faults{root.error()});
  auto report = ReportReader().read(*root);
  if (!report) json::locate_faults(json, report.error());
  return report;
}

std::expected<std::int64_t, Faults> parse_report_reply(std::string_view json) {
  if (json.size() > kMaxReportBytes) return std::unexpected(Faults{{"", "the reply is too large"}});
  json::Tree tree;
  const auto root = tree.parse(json);
  if (!root) return std::unexpected(Faults{root.error()});
  json::FaultList faults;
  const json::Place whole;
  json::Fields fields(*root, whole, faults);
  fields.require("stored", "the number of the last report stored, or 0");
  const auto stored = fields.integer("stored", 0, kMaxNumber);
  if (faults.count() != 0 || !stored) return std::unexpected(faults.take());
  return *stored;
}

}  // namespace sluice::sync
