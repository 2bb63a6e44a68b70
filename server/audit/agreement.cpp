#include "server/audit/agreement.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/objects/kind.hpp"
#include "server/audit/escaped.hpp"

namespace sluice::server::audit {
namespace {

constexpr int kMaxLines = 10;  // for each kind of difference

// Each query below returns the differences: kind, tenant, id and version of an object, and a text. kRevisions returns a
// revision and a text.

// Documents of API keys are not compared, because the trail holds fingerprints of the keys instead of their hashes.
constexpr std::string_view kTrailAndVersions = R"(
SELECT kind, tenant_id, id, version,
       CASE WHEN v.revision IS NULL THEN 'is in audit, but not in versions'
            WHEN a.revision IS NULL THEN 'is in versions, but not in audit'
            ELSE 'differs between versions and audit' END
FROM versions v FULL JOIN (SELECT kind, tenant_id, object_id AS id, version, organization_id, revision, actor_id, made_at,
                                  after FROM audit) a USING (kind, tenant_id, id, version, organization_id)
WHERE (v.revision, v.actor_id, v.made_at, v.document IS NULL)
      IS DISTINCT FROM (a.revision, a.actor_id, a.made_at, a.after IS NULL)
   OR (kind <> 'key' AND v.document::text IS DISTINCT FROM a.after))";

// `changes` begins after the revisions that a server has removed (table `forgotten_changes`).
constexpr std::string_view kChangesAndVersions = R"(
SELECT kind, tenant_id, id, version,
       CASE WHEN v.revision IS NULL THEN 'is in changes, but not in versions'
            WHEN c.revision IS NULL THEN 'is in versions, but not in changes'
            ELSE 'differs between versions and changes' END
FROM (SELECT * FROM versions WHERE revision > (SELECT revision FROM forgotten_changes)) v FULL JOIN changes c USING (kind, tenant_id, id, version, organization_id)
WHERE (v.revision, v.document IS NULL) IS DISTINCT FROM (c.revision, c.removed))";

// Settings are left out because their version 1 is not in `versions`.
constexpr std::string_view kBeforeAndVersions = R"(
SELECT a.kind, a.tenant_id, a.object_id, a.version, 'has a `before` that differs from the previous version'
FROM audit a LEFT JOIN versions v
  ON (v.kind, v.tenant_id, v.id, v.version, v.organization_id) =
     (a.kind, a.tenant_id, a.object_id, a.version - 1, a.organization_id)
WHERE a.kind <> 'key' AND v.document::text IS DISTINCT FROM a.before AND a.kind <> 'setting')";

// {0} is the table of the objects, {1} their kind. Version 1 of the settings comes from a migration, so it is not in
// `versions`.
constexpr std::string_view kObjectsAndVersions = R"(
SELECT '{1}', tenant_id, id, coalesce(o.version, v.version),
       CASE WHEN o.version IS NULL THEN 'is the last version, but the object was removed without a version that says so'
            WHEN v.version IS NULL THEN 'is stored as an object, but not in versions'
            ELSE 'is stored as an object, but differs from its last version' END
FROM {0} o FULL JOIN (SELECT DISTINCT ON (tenant_id, id, organization_id) tenant_id, id, organization_id, version, document FROM versions
                      WHERE kind = '{1}' ORDER BY tenant_id, id, organization_id, version DESC) v
     USING (tenant_id, id, organization_id)
WHERE CASE WHEN o.version IS NULL THEN v.document IS NOT NULL
           ELSE (o.version, o.document::text) IS DISTINCT FROM (v.version, v.document::text)
                AND NOT ('{1}' = 'setting' AND v.version IS NULL AND o.version = 1) END)";

// Every revision from the oldest that is kept to the newest must have changes, with the ordinals 1, 2, 3 … without
// gaps.
constexpr std::string_view kRevisions = R"(
SELECT coalesce(revision, 0),
       CASE WHEN revision <= last THEN 'has missing changes' ELSE 'is later than the newest revision' END
FROM (SELECT revision.revision AS last FROM revision) head
CROSS JOIN (SELECT revision, count(*) AS rows, min(ordinal) AS first, max(ordinal) AS final,
                   lag(revision, 1, (SELECT revision FROM forgotten_changes)) OVER (ORDER BY revision) AS before
            FROM changes GROUP BY revision) r
WHERE revision > last OR before <> revision - 1 OR first <> 1 OR final <> rows
UNION ALL
SELECT last, 'has missing changes'
FROM (SELECT revision.revision AS last FROM revision) head
WHERE last > 0 AND NOT EXISTS (SELECT FROM changes WHERE revision = last))";

std::string object_text(const pqxx::row& row) {
  const std::string kind = kind_from(row[0].c_str()) ? row[0].c_str() : escaped(row[0].c_str());
  const std::string tenant = row[1].c_str();
  return fmt::format("version {} of {} {}{} {}", row[3].c_str(), kind, escaped(row[2].c_str()),
                     tenant.empty() ? "" : fmt::format(" of tenant {}", escaped(tenant)), row[4].c_str());
}

pqxx::result first_rows(pqxx::transaction_base& work, std::string_view sql) {
  return work.exec(fmt::format("{} LIMIT {}", sql, kMaxLines));
}

void add_objects(pqxx::transaction_base& work, std::string_view sql, std::vector<std::string>& faults) {
  for (const auto& row : first_rows(work, sql)) faults.push_back(object_text(row));
}

}  // namespace

std::vector<std::string> object_faults(pqxx::transaction_base& work, Kind kind) {
  std::vector<std::string> faults;
  add_objects(work, fmt::format(kObjectsAndVersions, info(kind).table(), info(kind).name), faults);
  return faults;
}

std::vector<std::string> agreement_faults(pqxx::transaction_base& work) {
  std::vector<std::string> faults;
  for (const std::string_view sql : {kTrailAndVersions, kChangesAndVersions, kBeforeAndVersions}) {
    add_objects(work, sql, faults);
  }
  for (const Kind kind : lock_order()) {
    if (!info(kind).table().empty()) std::ranges::move(object_faults(work, kind), std::back_inserter(faults));
  }
  for (const auto& row : first_rows(work, kRevisions)) {
    faults.push_back(fmt::format("revision {} {}", row[0].c_str(), row[1].c_str()));
  }
  return faults;
}

}  // namespace sluice::server::audit
