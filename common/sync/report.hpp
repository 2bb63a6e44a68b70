// The message that an agent sends to the server: its state, and its usage in numbered reports of one interval each.
//
//   {"agent_id":"a1","pod":"shop-7f9","boot_id":"…","version":"0.1.0","revision":7,"chain":"…",
//    "degraded":["redis: …"],"refusal":{"revision":8,"chain":"…","code":"checksum_mismatch","text":"…"},
//    "reports":[{"number":7,"from":"2027-03-31T00:00:00Z","to":"2027-03-31T00:00:10Z",
//                "counts":[{"tenant_id":"shop","policy_id":"orders","outcome":"denied","count":3}],
//                "subjects":[{"tenant_id":"shop","policy_id":"orders","subject":"sha256:…","count":2}]}]}
//   → {"stored":7}
//
// Within a boot, reports are numbered 1, 2, 3, … The server stores each (agent_id, boot_id, number) once, however often
// it is sent. `stored` in the reply is the number of the last report in its database, 0 for none. `"leaving":true` in a
// report says that the agent exits: the server forgets the agent at once instead of counting it as missing.
//
// Forward compatibility: unknown members are ignored everywhere, in reports and in the reply, because agents and
// servers are upgraded one by one, in either order.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/plan.hpp"
#include "common/sync/position.hpp"

namespace sluice::sync {

inline constexpr std::size_t kMaxReportBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMaxReportsAtOnce = 64;
inline constexpr std::size_t kMaxCountsAtOnce = 20'000;           // in all reports of one request together
inline constexpr std::size_t kMaxDegraded = 32;                   // reasons
inline constexpr std::size_t kMaxReportText = 1024;               // bytes of a reason, and of a refusal's text
inline constexpr std::size_t kMaxSubjectsAtOnce = 1'000;          // in all reports of one request together
inline constexpr std::size_t kMaxSubjectBytes = 512;              // of one throttled subject; longer ones are cut
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;  // of one count
inline constexpr std::size_t kMaxAgentNameBytes = 253;            // agent_id and pod, as long as a host's name

// The number of decisions with one outcome. `policy_id` is "" if no policy applied.
struct UsageCount {
  std::string tenant_id;
  std::string policy_id;
  std::string outcome;     // [a-z][a-z0-9_]{0,62}
  std::int64_t count = 0;  // 1 to kMaxCount

  bool operator==(const UsageCount&) const = default;
};

// One of the subjects that a policy's limits refused most often in the interval. Rarer ones are left out, so these
// counts do not add up to the number of refusals.
struct ThrottledSubject {
  std::string tenant_id;
  std::string policy_id;   // "" for checks that named a plan
  std::string subject;     // "sha256:<16 hex>", or the subject itself if the policy says so; 1 to kMaxSubjectBytes
  std::int64_t count = 0;  // lower bound of refused checks; 1 to kMaxCount

  bool operator==(const ThrottledSubject&) const = default;
};

struct UsageReport {
  std::int64_t number = 0;  // from 1
  WallTime from;            // inclusive
  WallTime to;              // exclusive; not before `from`
  std::vector<UsageCount> counts;
  std::vector<ThrottledSubject> subjects{};  // the member is absent if empty

  bool operator==(const UsageReport&) const = default;
};

// Why the agent refused a snapshot. `code`: one of the errors in scope_state.hpp, or `invalid_snapshot`.
struct SnapshotRefusal {
  Position refused;
  std::string code;  // [a-z][a-z0-9_]{0,62}
  std::string text;  // at most kMaxReportText bytes

  bool operator==(const SnapshotRefusal&) const = default;
};

struct AgentState {
  std::string agent_id;  // 1 to kMaxAgentNameBytes visible ASCII characters, as are boot_id and version
  std::string pod;       // the same, or ""
  std::string boot_id;
  std::string version;
  std::optional<Position> enforced;  // of the snapshot in force; nullopt: none yet ("revision" and "chain" are absent)
  std::vector<std::string> degraded;
  std::optional<SnapshotRefusal> refusal;
  bool leaving = false;  // this is its last report

  bool operator==(const AgentState&) const = default;
};

struct ReportDocument {
  AgentState agent;
  std::vector<UsageReport> reports;  // numbers strictly increase

  bool operator==(const ReportDocument&) const = default;
};

// Cuts texts that are too long, and leaves out reasons above kMaxDegraded and subjects above kMaxSubjectsAtOnce. So
// parse_report accepts the result if ids, numbers and counts are valid.
std::string write_report(const AgentState& agent, std::span<const UsageReport> reports);

// Faults, each with its JSON pointer, line and column: the text is not JSON or too large; a member is missing, of
// another type, out of range or above the bounds; or report numbers do not increase.
std::expected<ReportDocument, Faults> parse_report(std::string_view json);

std::string write_report_reply(std::int64_t stored);

// The number of the last report that the server has stored. Faults as parse_report.
std::expected<std::int64_t, Faults> parse_report_reply(std::string_view json);

}  // namespace sluice::sync
