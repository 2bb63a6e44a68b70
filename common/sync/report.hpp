// Reports: the messages in which an agent sends its state and usage to the server. Each usage report is numbered and
// covers one interval.
//
//   {"agent_id":"a1","pod":"shop-7f9","boot_id":"…","version":"0.1.0","revision":7,"chain":"…",
//    "counters_generation":"…","degraded":["redis:
//    …"],"refusal":{"revision":8,"chain":"…","code":"checksum_mismatch","text":"…"},
//    "reports":[{"number":7,"from":"2027-03-31T00:00:00Z","to":"2027-03-31T00:00:10Z",
//                "counts":[{"tenant_id":"shop","policy_id":"orders","outcome":"denied","count":3}],
//                "subjects":[{"tenant_id":"shop","policy_id":"orders","subject":"sha256:…","count":2}],
//                "unmatched":[{"tenant_id":"shop","resource":"GET:/carts","count":4}],
//                "quotas":[{"tenant_id":"shop","policy_id":"orders","plan_id":"","limit":"day","counter":"3f…",
//                           "subject":"sha256:…","percent":80,"quota":10,"used":8,
//                           "from":"2027-03-31T00:00:00Z","to":"2027-04-01T00:00:00Z"}],
//                "keys":["key-3f9a0c41d2e7"],
//                "utilization":[{"tenant_id":"shop","policy_id":"orders","decisions":9,"near_limit":2,"used":41200}]}]}
//   → {"stored":7}
//
// Within a boot (one start of an agent), usage reports are numbered 1, 2, 3, … The server stores each (agent_id,
// boot_id, number) once, however often the agent sends it. `stored` is the last number that this server knows to be in
// PostgreSQL, or 0. After a message with `"leaving":true` the agent exits, and the server forgets the agent instead of
// counting it as missing.
//
// Unknown members are ignored everywhere.
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

// Limits of one message.
inline constexpr std::size_t kMaxReportBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMaxReportsAtOnce = 64;
inline constexpr std::size_t kMaxCountsAtOnce = 20'000;        // in all usage reports together
inline constexpr std::size_t kMaxDegraded = 32;                // reasons why the agent is degraded
inline constexpr std::size_t kMaxReportText = 1024;            // bytes of a reason, and of a refusal's text
inline constexpr std::size_t kMaxSubjectsAtOnce = 1'000;       // in all usage reports together
inline constexpr std::size_t kMaxSubjectBytes = 512;           // longer subjects and resources are cut
inline constexpr std::size_t kMaxUnmatchedAtOnce = 1'000;      // in all usage reports together
inline constexpr std::size_t kMaxQuotaMarksAtOnce = 1'000;     // in all usage reports together
inline constexpr std::size_t kMaxKeysAtOnce = 10'000;          // in all usage reports together
inline constexpr std::size_t kMaxUtilizationsAtOnce = 20'000;  // in all usage reports together
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;
inline constexpr std::size_t kMaxAgentNameBytes = 253;  // as for host names

// The number of decisions with one outcome. `policy_id` is "" if no policy applied.
struct UsageCount {
  std::string tenant_id;
  std::string policy_id;
  std::string outcome;     // [a-z][a-z0-9_]{0,62}
  std::int64_t count = 0;  // 1 to kMaxCount

  bool operator==(const UsageCount&) const = default;
};

// One of the subjects that a policy's limits denied most often in the interval. Other subjects are left out.
struct ThrottledSubject {
  std::string tenant_id;
  std::string policy_id;   // "" for checks that named a plan
  std::string subject;     // "sha256:<16 hex>", or the subject itself if the policy says so; 1 to kMaxSubjectBytes
  std::int64_t count = 0;  // at least this many checks were denied; 1 to kMaxCount

  bool operator==(const ThrottledSubject&) const = default;
};

// One of the resources that were checked most often in the interval while no policy matched them.
struct UnmatchedResource {
  std::string tenant_id;
  std::string resource;    // in its canonical spelling; 1 to kMaxSubjectBytes
  std::int64_t count = 0;  // at least so many checks; 1 to kMaxCount

  bool operator==(const UnmatchedResource&) const = default;
};

// What is used of a quota has reached a share of it in its period. Servers of earlier releases ignore it.
struct QuotaReached {
  std::string tenant_id;
  std::string policy_id;     // "" for checks that named a plan
  std::string plan_id;       // "" for a policy with limits of its own
  std::string limit;         // its name
  std::string counter;       // tells the counters of a limit apart; as long as an agent_id
  std::string subject;       // as of ThrottledSubject; "" if the counter is not one subject's
  std::int64_t percent = 0;  // 1 to 100
  std::int64_t quota = 0;    // in units of the limit; 1 to kMaxCount
  std::int64_t used = 0;     // 1 to kMaxCount
  WallTime from;             // of the period; inclusive
  WallTime to;               // exclusive

  bool operator==(const QuotaReached&) const = default;
};

// How much was used of the limits that decided a policy's checks. Servers of earlier releases ignore it.
struct Utilization {
  static constexpr std::int64_t kWhole = 10'000;  // a limit that is used up

  std::string tenant_id;
  std::string policy_id;        // "" for checks that named a plan
  std::int64_t decisions = 0;   // that a limit judged; 1 to kMaxCount
  std::int64_t near_limit = 0;  // of these, after which more than 80 % of the limit was used; 0 to `decisions`
  std::int64_t used = 0;        // the sum of the shares that were used after each, in 1 / kWhole; 0 to kMaxCount

  bool operator==(const Utilization&) const = default;
};

struct UsageReport {
  std::int64_t number = 0;  // from 1
  WallTime from;            // inclusive
  WallTime to;              // exclusive; not before `from`
  std::vector<UsageCount> counts;
  std::vector<ThrottledSubject> subjects{};
  std::vector<UnmatchedResource> unmatched{};
  std::vector<QuotaReached> quotas{};
  // The ids of API keys that were used in the interval, or shortly before. A key in use is reported once in a while,
  // not in every report. Servers of earlier releases ignore them.
  std::vector<std::string> keys{};
  std::vector<Utilization> utilization{};

  bool operator==(const UsageReport&) const = default;
};

struct SnapshotRefusal {
  Position refused;
  std::string code;  // an error of scope_state.hpp, or `invalid_snapshot`; [a-z][a-z0-9_]{0,62}
  std::string text;  // at most kMaxReportText bytes

  bool operator==(const SnapshotRefusal&) const = default;
};

struct AgentState {
  // 1 to kMaxAgentNameBytes visible ASCII characters each. `pod` may be "".
  std::string agent_id;
  std::string pod;
  std::string boot_id;
  std::string version;
  std::optional<Position> enforced;   // the position of the snapshot in force
  std::vector<std::string> degraded;  // reasons
  std::optional<SnapshotRefusal> refusal;
  bool leaving = false;
  // Of the login to Redis that the agent got from a server; "": it has none from a server, or one without a generation.
  // At most kMaxAgentNameBytes visible ASCII characters.
  std::string counters_generation{};

  bool operator==(const AgentState&) const = default;
};

struct ReportDocument {
  AgentState agent;
  std::vector<UsageReport> reports;  // numbers strictly increase

  bool operator==(const ReportDocument&) const = default;
};

// Cuts texts that are too long, and leaves out reasons beyond kMaxDegraded, subjects beyond kMaxSubjectsAtOnce,
// resources beyond kMaxUnmatchedAtOnce, quotas beyond kMaxQuotaMarksAtOnce, keys beyond kMaxKeysAtOnce and utilization
// beyond kMaxUtilizationsAtOnce.
std::string write_report(const AgentState& agent, std::span<const UsageReport> reports);

// Faults: the text is not JSON or too large; a member is missing, of another type or out of range; a list is too long;
// the numbers of the usage reports do not increase.
std::expected<ReportDocument, Faults> parse_report(std::string_view json);

std::string write_report_reply(std::int64_t stored);

// Returns `stored`.
std::expected<std::int64_t, Faults> parse_report_reply(std::string_view json);

}  // namespace sluice::sync
