#include "common/sync/whatif.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "common/domain/identifiers.hpp"
#include "common/json/edit.hpp"

namespace sluice::sync {
namespace {

constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;  // every JSON reader reads it exactly
constexpr std::int64_t kMaxTimeUs = std::numeric_limits<std::int64_t>::max() / 2;
constexpr std::size_t kMaxText = 300;  // bytes

constexpr std::array<std::string_view, kWhatIfOutcomes> kOutcomes{"admitted", "denied", "held", "refused",
                                                                  "not_matched"};
constexpr std::array<std::string_view, 5> kStatuses{"judged", "no_recording", "not_recorded", "failed", "too_old"};

std::optional<WhatIfStatus> status_from(std::string_view text) {
  const auto* const found = std::ranges::find(kStatuses, text);
  if (found == kStatuses.end()) return std::nullopt;
  return static_cast<WhatIfStatus>(found - kStatuses.begin());
}

std::int64_t read_count(json::Fields& fields, std::string_view name) {
  return fields.integer(name, 0, kMaxCount).value_or(0);
}

std::int64_t read_time(json::Fields& fields, std::string_view name) {
  fields.require(name, "microseconds since 1970");
  return fields.integer(name, 0, kMaxTimeUs).value_or(0);
}

std::string read_name(json::Fields& fields, std::string_view name) {
  fields.require(name, "an id");
  const auto text = fields.text(name, kMaxIdBytes);
  if (text && !is_id(*text)) fields.fault(name, fmt::format("{} is not a valid id", name));
  return std::string(text.value_or(""));
}

WhatIfCounts read_counts(json::Fields& fields) {
  WhatIfCounts counts;
  for (std::size_t i = 0; i < kWhatIfOutcomes; ++i) counts.outcomes[i] = read_count(fields, kOutcomes[i]);
  counts.denied_before = read_count(fields, "denied_before");
  counts.newly_denied = read_count(fields, "newly_denied");
  return counts;
}

void read_minute(const json::Value& value, const json::Place& at, json::FaultList& faults, WhatIfAnswer& out) {
  json::Fields fields(value, at, faults);
  if (!fields.is_object()) return;
  WhatIfMinute minute{.begin_us = read_time(fields, "at_us"), .counts = read_counts(fields)};
  const bool in_order = out.minutes.empty() || out.minutes.back().begin_us < minute.begin_us;
  if (!in_order || minute.begin_us % kMinuteUs != 0) fields.fault("at_us", "minutes are whole, each once, in order");
  out.minutes.push_back(minute);
}

void read_subject(const json::Value& value, const json::Place& at, json::FaultList& faults, WhatIfAnswer& out) {
  json::Fields fields(value, at, faults);
  if (!fields.is_object()) return;
  fields.require("subject", "as the policy's report_subjects says");
  out.subjects.push_back({.subject = std::string(fields.text("subject", kMaxText).value_or("")),
                          .admitted = read_count(fields, "admitted"),
                          .denied = read_count(fields, "denied")});
}

void check_bounds(json::Fields& fields, const WhatIfAnswer& answer) {
  // A range that begins within a minute touches one minute more.
  if (answer.minutes.size() > kMaxWhatIfMinutes + 1) {
    fields.fault("minutes",
                 fmt::format("minutes has {} items: send at most {}", answer.minutes.size(), kMaxWhatIfMinutes + 1));
  }
  if (answer.subjects.size() > kMaxWhatIfSubjects) {
    fields.fault("subjects",
                 fmt::format("subjects has {} items: send at most {}", answer.subjects.size(), kMaxWhatIfSubjects));
  }
}

WhatIfAnswer read_answer(json::Fields& fields, json::FaultList& faults) {
  WhatIfAnswer answer;
  answer.question_id = read_name(fields, "id");
  fields.require("status", "how the question was answered");
  answer.status = fields.choice("status", &status_from, "judged, no_recording, not_recorded, failed")
                      .value_or(WhatIfStatus::failed);
  answer.text = fields.text("text", kMaxText).value_or("");
  answer.fallen = read_count(fields, "fallen");
  answer.short_of_memory = fields.boolean("short_of_memory").value_or(false);
  if (answer.status == WhatIfStatus::judged) answer.complete_since_us = read_time(fields, "complete_since_us");
  fields.each("minutes", false,
              [&](const json::Value& value, const json::Place& at) { read_minute(value, at, faults, answer); });
  fields.each("subjects", false,
              [&](const json::Value& value, const json::Place& at) { read_subject(value, at, faults, answer); });
  check_bounds(fields, answer);
  return answer;
}

}  // namespace

std::string_view to_string(WhatIfOutcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }
std::string_view to_string(WhatIfStatus status) { return kStatuses[static_cast<std::size_t>(status)]; }

std::int64_t WhatIfCounts::judged() const {
  return std::accumulate(outcomes.begin(), outcomes.end(), std::int64_t{0}) - (*this)[WhatIfOutcome::not_matched];
}

WhatIfCounts& WhatIfCounts::operator+=(const WhatIfCounts& other) {
  for (std::size_t i = 0; i < kWhatIfOutcomes; ++i) outcomes[i] += other.outcomes[i];
  denied_before += other.denied_before;
  newly_denied += other.newly_denied;
  return *this;
}

void write_counts(json::Writer& out, const WhatIfCounts& counts) {
  for (std::size_t i = 0; i < kWhatIfOutcomes; ++i) out.field(kOutcomes[i], counts.outcomes[i]);
  out.field("denied_before", counts.denied_before);
  out.field("newly_denied", counts.newly_denied);
}

void write_question(json::Writer& out, const WhatIfQuestion& question) {
  out.begin_object();
  out.field("id", question.id);
  out.field("tenant_id", question.tenant_id);
  out.field("policy_id", question.policy_id);
  out.field("from_us", question.from_us);
  out.field("to_us", question.to_us);
  out.key("policy");
  out.raw(question.policy);
  out.end_object();
}

std::optional<WhatIfQuestion> read_question(json::Fields& fields) {
  const std::size_t before = fields.faults().count();
  WhatIfQuestion question{.id = read_name(fields, "id"),
                          .tenant_id = read_name(fields, "tenant_id"),
                          .policy_id = read_name(fields, "policy_id"),
                          .policy = {},
                          .from_us = read_time(fields, "from_us"),
                          .to_us = read_time(fields, "to_us")};
  fields.require("policy", "the edited policy");
  if (const json::Value* const policy = fields.take("policy")) json::append(question.policy, *policy);
  if (fields.faults().count() != before) return std::nullopt;
  return question;
}

std::string write_answer(const WhatIfAnswer& answer) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("id", answer.question_id);
  out.field("status", to_string(answer.status));
  out.optional_field("text", std::string_view(answer.text).substr(0, kMaxText));
  if (answer.status == WhatIfStatus::judged) {
    out.field("complete_since_us", answer.complete_since_us);
    out.field("fallen", answer.fallen);
    out.field("short_of_memory", answer.short_of_memory);
    out.key("minutes");
    out.begin_list();
    for (const WhatIfMinute& minute : answer.minutes) {
      out.begin_object();
      out.field("at_us", minute.begin_us);
      write_counts(out, minute.counts);
      out.end_object();
    }
    out.end_list();
    out.key("subjects");
    out.begin_list();
    for (const WhatIfSubject& subject : answer.subjects) {
      out.begin_object();
      out.field("subject", subject.subject);
      out.field("admitted", subject.admitted);
      out.field("denied", subject.denied);
      out.end_object();
    }
    out.end_list();
  }
  out.end_object();
  return out.take();
}

std::expected<WhatIfAnswer, Faults> parse_answer(std::string_view text) {
  json::Tree tree;
  const auto document = tree.parse(text);
  if (!document) return std::unexpected(Faults{document.error()});
  json::FaultList faults;
  const json::Place whole;
  json::Fields fields(*document, whole, faults);
  if (!fields.is_object()) return std::unexpected(faults.take());
  WhatIfAnswer answer = read_answer(fields, faults);
  if (faults.count() != 0) return std::unexpected(faults.take());
  return answer;
}

}  // namespace sluice::sync
