// tables_agree(): compares the audit trail with the other tables by sums of hashes of their rows.
#include <array>
#include <cstdint>
#include <cstring>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/crypto.hpp"
#include "common/objects/kind.hpp"
#include "server/audit/agreement.hpp"

namespace sluice::server::audit {
namespace {

constexpr std::uint64_t kModulus = std::uint64_t{1} << 63;

// The trail holds fingerprints of API keys, not their hashes, and it has no row for version 1 of the settings. So
// tables_agree() compares these two kinds row by row. Counters and sessions are not stored as objects.
constexpr std::string_view kNotInDocumentSum = "('key', 'setting', 'counter', 'session')";

std::int64_t random_seed() {
  std::array<std::uint8_t, 8> bytes;
  random_bytes(bytes);
  std::int64_t seed = 0;
  std::memcpy(&seed, bytes.data(), sizeof seed);
  return seed;
}

// SQL for the sum of the rows' hashes, modulo 2^63.
class HashSum {
 public:
  std::string of(std::string_view columns, std::string_view condition = "true") const {
    return fmt::format(
        "mod(coalesce(sum(hash_record_extended(ROW({}), {})) FILTER (WHERE {}), 0), 9223372036854775808)::bigint",
        columns, seed_, condition);
  }

 private:
  std::int64_t seed_ = random_seed();
};

std::uint64_t sum(const pqxx::field& field) { return static_cast<std::uint64_t>(field.as<std::int64_t>()) % kModulus; }

struct Hashes {
  HashSum trail;   // of columns that `versions` shares with the trail
  HashSum change;  // of columns that `versions` shares with `changes`, for the revisions that `changes` still has
  // The sum over all versions must equal the sum over audit.before plus the sum over the objects that exist now.
  HashSum document;
};

std::uint64_t documents_now(pqxx::transaction_base& work, const HashSum& hash) {
  std::uint64_t total = 0;
  for (const Kind each : kAllKinds) {
    if (each == Kind::setting || each == Kind::key || info(each).table().empty()) continue;
    const KindInfo& kind = info(each);
    const std::string columns =
        fmt::format("'{}'::text, tenant_id, id, version, organization_id, document::text", kind.name);
    total += sum(work.exec1(fmt::format("SELECT {} FROM {}", hash.of(columns), kind.table()))[0]);
  }
  return total % kModulus;
}

bool sums_agree(pqxx::transaction_base& work) {
  const Hashes hashes;
  const std::string left_out = fmt::format("IN {}", kNotInDocumentSum);
  const pqxx::row trail = work.exec1(fmt::format(
      "SELECT {}, {} FROM audit",
      hashes.trail.of(
          "kind, tenant_id, object_id, version, organization_id, revision, actor_id, made_at, after IS NULL, "
          "CASE WHEN kind <> 'key' THEN after END"),
      hashes.document.of("kind, tenant_id, object_id, version - 1, organization_id, before",
                         fmt::format("before IS NOT NULL AND kind NOT {}", left_out))));
  const pqxx::row versions = work.exec1(fmt::format(
      "SELECT {}, {}, {} FROM versions",
      hashes.trail.of("kind, tenant_id, id, version, organization_id, revision, actor_id, made_at, document IS NULL, "
                      "CASE WHEN kind <> 'key' THEN document::text END"),
      hashes.change.of("kind, tenant_id, id, version, organization_id, revision, document IS NULL",
                       "revision > (SELECT revision FROM forgotten_changes)"),
      hashes.document.of("kind, tenant_id, id, version, organization_id, document::text",
                         fmt::format("document IS NOT NULL AND kind NOT {}", left_out))));
  const pqxx::row changes =
      work.exec1(fmt::format("SELECT {}, count(*) FILTER (WHERE ordinal = 1) = (SELECT revision FROM revision) - "
                             "(SELECT revision FROM forgotten_changes), "
                             "coalesce(max(revision), 0) = (SELECT revision FROM revision) FROM changes",
                             hashes.change.of("kind, tenant_id, id, version, organization_id, revision, removed")));
  return sum(trail[0]) == sum(versions[0]) && sum(versions[1]) == sum(changes[0]) && changes[1].as<bool>() &&
         changes[2].as<bool>() && sum(versions[2]) == (sum(trail[1]) + documents_now(work, hashes.document)) % kModulus;
}

}  // namespace

bool tables_agree(pqxx::transaction_base& work) {
  return sums_agree(work) && object_faults(work, Kind::key).empty() && object_faults(work, Kind::setting).empty();
}

}  // namespace sluice::server::audit
