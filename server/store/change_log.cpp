#include "server/store/change_log.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/crypto.hpp"
#include "server/store/chain.hpp"
#include "server/store/statement.hpp"

namespace sluice::server::store {
namespace {

// Limits of one statement. They keep it far below its time-out and below PostgreSQL's longest text (1 GB).
constexpr std::size_t kRowsPerStatement = 2000;
constexpr std::size_t kBytesPerStatement = std::size_t{8} << 20;
constexpr std::string_view kSessionMark = " session ";

struct AuditHead {  // the number and hash of an audit chain's last row
  std::int64_t seq = 0;
  Sha256Digest hash{};
};

Sha256Digest digest_from(const char* hex) {
  Sha256Digest digest{};
  from_hex(hex, digest);
  return digest;
}

// Starts an audit chain if the organization has none.
AuditHead lock_head(postgres::Transaction& tx, const std::string& organization) {
  static const std::string kLock =
      "SELECT seq, encode(hash, 'hex') FROM audit_heads WHERE organization_id = $1 FOR UPDATE";
  pqxx::result rows = tx.exec(kLock, organization);
  if (rows.empty()) {
    tx.exec("INSERT INTO audit_heads (organization_id, seq, hash) VALUES ($1, 0, $2::bytea) ON CONFLICT DO NOTHING",
            organization, postgres::bytea(std::string(32, '\0')));
    rows = tx.exec(kLock, organization);
  }
  return {.seq = rows[0][0].as<std::int64_t>(), .hash = digest_from(rows[0][1].c_str())};
}

// The revision's chain is computed from this hash.
Sha256Digest digest_of(const std::vector<Change>& changes) {
  Sha256 hash;
  const auto part = [&hash](std::string_view text) { hash.update(fmt::format("{}:", text.size())).update(text); };
  for (const Change& change : changes) {
    part(info(change.key.kind).name);
    part(change.organization_id);
    part(change.key.tenant_id);
    part(change.key.id);
    part(std::to_string(change.version));
    part(change.after ? "written" : "removed");
    part(change.after.value_or(""));
  }
  return hash.finish();
}

struct Stamp {
  Revision revision;
  std::int64_t made_at_us = 0;
};

// Locks the only row of the table `revision` until the commit, so that revisions become visible in the order of their
// numbers. Throws DeadlinePassed if the transaction got the lock after its deadline. After an update in time, no other
// writer commits before this transaction ends, so it cannot overwrite a newer change.
Stamp next_revision(postgres::Transaction& tx, const Sha256Digest& changes) {
  static const std::string kNext =
      "UPDATE revision SET revision = revision + 1, chain = sha256(chain || $1::bytea), made_at = clock_timestamp() "
      "RETURNING revision, encode(chain, 'hex'), " +
      as_timestamp("made_at") +
      ", (extract(epoch FROM made_at) * 1000000)::bigint, "
      // RETURNING is computed once the row is locked; a condition of WHERE could be older than the wait for the lock.
      "extract(epoch FROM clock_timestamp()) * 1000000 < $2::bigint";
  const std::string_view bytes(reinterpret_cast<const char*>(changes.data()), changes.size());
  const pqxx::result rows = tx.exec(kNext, postgres::bytea(bytes), tx.deadline_us());
  if (!rows[0][4].as<bool>()) throw postgres::DeadlinePassed();
  return {
      .revision = {.number = rows[0][0].as<std::int64_t>(), .chain = rows[0][1].c_str(), .made_at = rows[0][2].c_str()},
      .made_at_us = rows[0][3].as<std::int64_t>()};
}

// One array for each column of many rows, as parameters of SQL's unnest().
class ArrayColumns {
 public:
  void add(std::size_t column, std::string text) { texts_[column].push_back(std::move(text)); }
  std::string array(std::size_t column) { return postgres::text_array(texts_[column]); }

 private:
  std::map<std::size_t, std::vector<std::string>> texts_;
};

constexpr std::string_view kRecord = R"(
WITH stamp AS (SELECT to_timestamp(0) + $1::bigint * interval '1 microsecond' AS made_at, $2::bigint AS revision),
     entry AS (
       SELECT * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[],
                            $11::text[], $12::bigint[], $13::text[], $14::boolean[]) WITH ORDINALITY
         AS e (kind, organization_id, tenant_id, id, version, document, before, after, action, seq, hash, removed, ordinal)),
     version AS (
       INSERT INTO versions (kind, organization_id, tenant_id, id, version, document, revision, actor_id, made_at)
       SELECT kind, organization_id, tenant_id, id, version, CASE WHEN removed THEN NULL ELSE document::json END,
              stamp.revision, $15, stamp.made_at
       FROM entry, stamp),
     change AS (
       INSERT INTO changes (revision, ordinal, kind, organization_id, tenant_id, id, version, removed)
       SELECT stamp.revision, ordinal + $19::bigint, kind, organization_id, tenant_id, id, version, removed FROM entry, stamp),
     named AS (
       INSERT INTO revisions (revision, chain, made_at, traceparent)
       SELECT revision.revision, revision.chain, revision.made_at, nullif($20, '') FROM revision WHERE $19::bigint = 0),
     trail AS (
       INSERT INTO audit (organization_id, seq, tenant_id, made_at, actor_id, actor_role, source, request_id, action, kind,
                          object_id, version, before, after, revision, hash)
       SELECT organization_id, seq, tenant_id, stamp.made_at, $15, $16, $17, $18, action, kind, id, version,
              nullif(before, ''), nullif(after, ''), stamp.revision, decode(hash, 'hex')
       FROM entry, stamp),
     moved AS (
       UPDATE audit_heads h SET seq = e.seq, hash = decode(e.hash, 'hex')
       FROM (SELECT DISTINCT ON (organization_id) organization_id, seq, hash FROM entry ORDER BY organization_id, seq DESC) e
       WHERE h.organization_id = e.organization_id)
SELECT pg_notify('sluice_revision', $2::text))";

// Writes some of the revision's changes, and notifies the feeds of all servers. `before_these`: how many of the
// revision's changes were written before. `heads`: the locked audit heads, which write() updates.
void write(postgres::Transaction& tx, const Actor& actor, const Stamp& stamp, std::span<const Change> changes,
           std::size_t before_these, std::map<std::string, AuditHead>& heads) {
  ArrayColumns columns;
  const std::string source = recorded_source(actor);
  for (const Change& change : changes) {
    AuditHead& head = heads[change.organization_id];
    const std::string before = change.before ? redacted(change, *change.before) : std::string();
    const std::string after = change.after ? redacted(change, *change.after) : std::string();
    const std::string_view kind = info(change.key.kind).name;
    head.hash = chained(head.hash, {.organization_id = change.organization_id,
                                    .seq = ++head.seq,
                                    .tenant_id = change.key.tenant_id,
                                    .made_at_us = stamp.made_at_us,
                                    .actor_id = actor.id,
                                    .actor_role = actor.role,
                                    .source = source,
                                    .request_id = actor.request_id,
                                    .action = change.action,
                                    .kind = kind,
                                    .object_id = change.key.id,
                                    .version = change.version,
                                    .before = before,
                                    .after = after,
                                    .revision = stamp.revision.number});
    std::size_t column = 0;
    for (std::string text :
         {std::string(kind), change.organization_id, change.key.tenant_id, change.key.id,
          std::to_string(change.version), change.after.value_or(""), before, after, change.action,
          std::to_string(head.seq), to_hex(head.hash), std::string(change.after ? "false" : "true")}) {
      columns.add(column++, std::move(text));
    }
  }
  tx.exec(std::string(kRecord), stamp.made_at_us, stamp.revision.number, columns.array(0), columns.array(1),
          columns.array(2), columns.array(3), columns.array(4), columns.array(5), columns.array(6), columns.array(7),
          columns.array(8), columns.array(9), columns.array(10), columns.array(11), actor.id, actor.role, source,
          actor.request_id, before_these, tx.trace().traceparent());
}

}  // namespace

void ChangeLog::inserted(std::string_view action, const StoredObject& made) {
  add({.action = std::string(action),
       .key = made.key,
       .organization_id = made.organization_id,
       .version = made.version,
       .before = std::nullopt,
       .after = made.document});
}

void ChangeLog::updated(std::string_view action, const StoredObject& before, const StoredObject& after) {
  add({.action = std::string(action),
       .key = after.key,
       .organization_id = after.organization_id,
       .version = after.version,
       .before = before.document,
       .after = after.document});
}

void ChangeLog::removed(std::string_view action, const StoredObject& before) {
  add({.action = std::string(action),
       .key = before.key,
       .organization_id = before.organization_id,
       .version = before.version + 1,
       .before = before.document,
       .after = std::nullopt});
}

void ChangeLog::lock_heads(postgres::Transaction& tx) const {
  std::set<std::string> organizations;
  for (const Change& change : changes_) organizations.insert(change.organization_id);
  for (const std::string& organization : organizations) lock_head(tx, organization);
}

Revision ChangeLog::record(postgres::Transaction& tx, const Actor& actor) {
  std::map<std::string, AuditHead> heads;  // sorted by organization: the heads are locked in this order
  for (const Change& change : changes_) heads.try_emplace(change.organization_id);
  for (auto& [organization, head] : heads) head = lock_head(tx, organization);
  const Stamp stamp = next_revision(tx, digest_of(changes_));
  const std::span<const Change> all(changes_);
  std::size_t begin = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bytes += (all[i].before ? all[i].before->size() : 0) + (all[i].after ? all[i].after->size() : 0);
    if (i + 1 < all.size() && i + 1 - begin < kRowsPerStatement && bytes < kBytesPerStatement) continue;
    write(tx, actor, stamp, all.subspan(begin, i + 1 - begin), begin, heads);
    begin = i + 1;
    bytes = 0;
  }
  return stamp.revision;
}

Revision head(postgres::Transaction& tx) {
  const pqxx::result rows =
      tx.exec_text("SELECT revision, encode(chain, 'hex'), " + as_timestamp("made_at") + " FROM revision");
  return {.number = rows[0][0].as<std::int64_t>(), .chain = rows[0][1].c_str(), .made_at = rows[0][2].c_str()};
}

std::string recorded_source(const Actor& actor) {
  if (actor.session_id.empty()) return actor.source;
  return fmt::format("{}{}{}", actor.source, kSessionMark, actor.session_id);
}

RecordedSource read_source(std::string_view recorded) {
  const std::size_t mark = recorded.find(kSessionMark);
  if (mark == std::string_view::npos) return {.address = recorded, .session_id = {}};
  return {.address = recorded.substr(0, mark), .session_id = recorded.substr(mark + kSessionMark.size())};
}

std::string redacted(const Change& change, const std::string& document) {
  if (change.key.kind != Kind::key) return document;
  // "key_hash":"sha256:<salt>:<hash>" becomes "key_hash":"fingerprint:<first eight digits of the hash>".
  static constexpr std::string_view kMember = "\"key_hash\":\"";
  const std::size_t begin = document.find(kMember);
  if (begin == std::string::npos) return document;
  const std::size_t value = begin + kMember.size();
  const std::size_t end = document.find('"', value);
  const std::size_t digest = document.rfind(':', end) + 1;
  std::string text = document;
  return text.replace(value, end - value, "fingerprint:" + document.substr(digest, 8));
}

}  // namespace sluice::server::store
