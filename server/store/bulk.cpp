#include "server/store/bulk.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>
#include <pqxx/pqxx>

namespace sluice::server::store {
namespace {

// Limits of one statement. They keep it far below the statement time-out and PostgreSQL's longest text (1 GB).
constexpr std::size_t kRows = 2000;
constexpr std::size_t kBytes = std::size_t{8} << 20;

// One array literal for each column of many rows, as parameters of SQL's unnest().
class Columns {
 public:
  explicit Columns(std::size_t count) : literals_(count, "{") {}

  void add(std::size_t column, const std::optional<std::string>& value) {
    std::string& literal = literals_[column];
    if (literal.size() > 1) literal += ',';
    if (!value) {
      literal += "NULL";
      return;
    }
    literal += '"';
    for (const char c : *value) {
      if (c == '"' || c == '\\') literal += '\\';
      literal += c;
    }
    literal += '"';
  }

  pqxx::result run(postgres::Transaction& tx, const std::string& sql) {
    for (std::string& literal : literals_) literal += '}';
    return tx.exec(sql, pqxx::prepare::make_dynamic_params(literals_));
  }

 private:
  std::vector<std::string> literals_;
};

// "$1::text[], $2::text[], …"
std::string arrays(std::size_t count) {
  std::string text;
  for (std::size_t i = 1; i <= count; ++i) text += fmt::format("{}${}::text[]", i == 1 ? "" : ", ", i);
  return text;
}

const ObjectId& key_of(const ObjectId& key) { return key; }
const ObjectId& key_of(const StoredObject& object) { return object.key; }
std::size_t size_of(const ObjectId&) { return 0; }
std::size_t size_of(const StoredObject&) { return 0; }
std::size_t size_of(const RowDraft& row) { return row.document.size(); }

template <class Row, class Run>
void in_parts(std::span<const Row> rows, Run run) {
  std::size_t begin = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bytes += size_of(rows[i]);
    if (i + 1 < rows.size() && i + 1 - begin < kRows && bytes < kBytes) continue;
    run(rows.subspan(begin, i + 1 - begin));
    begin = i + 1;
    bytes = 0;
  }
}

constexpr std::string_view kWanted = "unnest($1::text[], $2::text[]) AS r(tenant_id, id)";
// Joins `t`, the table of a kind, with `r`, the keys or drafts of one statement. If ids of the kind are unique across
// tenants, compares only the ids, because the table's index begins with the id.
std::string same_row(Kind kind) {
  return info(kind).local_id ? "t.tenant_id = r.tenant_id AND t.id = r.id" : "t.id = r.id";
}

template <class Row>
Columns keys_of(std::span<const Row> rows) {
  Columns columns(2);
  for (const Row& row : rows) {
    columns.add(0, key_of(row).tenant_id);
    columns.add(1, key_of(row).id);
  }
  return columns;
}

constexpr std::string_view kRead = "t.organization_id, t.tenant_id, t.id, t.version, t.document";

void read(Kind kind, const pqxx::result& rows, std::vector<StoredObject>& out) {
  for (const auto& row : rows) {
    out.push_back({.key = {kind, row[1].c_str(), row[2].c_str()},
                   .organization_id = row[0].c_str(),
                   .version = row[3].as<std::int64_t>(),
                   .document = row[4].c_str(),
                   .created_at = {},
                   .updated_at = {}});
  }
}

std::string key_text(std::string_view tenant_id, std::string_view id) { return fmt::format("{}/{}", tenant_id, id); }

// The columns have the order of drafts_table().
Columns columns_of(std::span<const RowDraft> rows) {
  Columns columns(4 + rows.front().extra.size());
  for (const RowDraft& row : rows) {
    columns.add(0, row.key.tenant_id);
    columns.add(1, row.key.id);
    columns.add(2, row.document);
    columns.add(3, row.organization_id);
    for (std::size_t i = 0; i < row.extra.size(); ++i) columns.add(4 + i, row.extra[i].value);
  }
  return columns;
}

// `sql` must return tenant_id, id and version of each row that it wrote.
std::vector<std::int64_t> write(postgres::Transaction& tx, const std::string& sql, std::span<const RowDraft> rows) {
  std::vector<std::int64_t> versions;
  versions.reserve(rows.size());
  in_parts(rows, [&](std::span<const RowDraft> part) {
    std::unordered_map<std::string, std::int64_t> written;
    for (const auto& row : columns_of(part).run(tx, sql)) {
      written.emplace(key_text(row[0].c_str(), row[1].c_str()), row[2].as<std::int64_t>());
    }
    for (const RowDraft& row : part) {
      const auto found = written.find(key_text(row.key.tenant_id, row.key.id));
      versions.push_back(found == written.end() ? 0 : found->second);
    }
  });
  return versions;
}

// SQL that makes a table `r` of the drafts.
std::string drafts_table(const RowDraft& first) {
  std::string names = "tenant_id, id, document, organization_id";
  for (const ExtraColumn& column : first.extra) names.append(", ").append(column.name);
  return fmt::format("unnest({}) AS r({})", arrays(4 + first.extra.size()), names);
}

}  // namespace

std::vector<StoredObject> find_all(postgres::Transaction& tx, Kind kind, std::span<const ObjectId> keys) {
  std::vector<StoredObject> found;
  const std::string sql =
      fmt::format("SELECT {} FROM {} t JOIN {} ON {}", kRead, info(kind).table(), kWanted, same_row(kind));
  in_parts(keys, [&](std::span<const ObjectId> part) { read(kind, keys_of(part).run(tx, sql), found); });
  std::ranges::sort(found, {}, [](const StoredObject& row) { return std::tie(row.key.tenant_id, row.key.id); });
  return found;
}

std::vector<StoredObject> find_of_tenants(postgres::Transaction& tx, Kind kind,
                                          const std::vector<std::string>& tenant_ids) {
  std::vector<StoredObject> found;
  const std::string sql = fmt::format("SELECT {} FROM {} t WHERE t.tenant_id = $1 AND t.id > $2 ORDER BY t.id LIMIT {}",
                                      kRead, info(kind).table(), kRows);
  for (const std::string& tenant_id : tenant_ids) {
    std::string after;
    for (std::size_t before = found.size();; before = found.size()) {
      read(kind, tx.exec(sql, tenant_id, after), found);
      if (found.size() < before + kRows) break;
      after = found.back().key.id;
    }
  }
  std::ranges::sort(found, {}, [](const StoredObject& row) { return std::tie(row.key.tenant_id, row.key.id); });
  return found;
}

bool lock_all(postgres::Transaction& tx, Kind kind, std::span<const StoredObject> rows, Lock lock) {
  std::vector<StoredObject> sorted(rows.size());
  std::ranges::transform(rows, sorted.begin(), [](const StoredObject& row) {
    return StoredObject{.key = row.key,
                        .organization_id = {},
                        .version = row.version,
                        .document = {},
                        .created_at = {},
                        .updated_at = {}};
  });
  std::ranges::sort(sorted, {}, [](const StoredObject& row) { return std::tie(row.key.tenant_id, row.key.id); });
  const std::string sql =
      fmt::format("SELECT t.version FROM {} t JOIN {} ON {} ORDER BY t.tenant_id, t.id FOR {} OF t", info(kind).table(),
                  kWanted, same_row(kind), lock == Lock::share ? "SHARE" : "UPDATE");
  bool same = true;
  in_parts(std::span<const StoredObject>(sorted), [&](std::span<const StoredObject> part) {
    const pqxx::result locked = keys_of(part).run(tx, sql);
    same = same && std::cmp_equal(locked.size(), part.size());
    if (!same) return;
    for (pqxx::result::size_type i = 0; i < locked.size(); ++i) {
      same = same && locked[i][0].as<std::int64_t>() == part[static_cast<std::size_t>(i)].version;
    }
  });
  return same;
}

std::vector<std::int64_t> insert_all(postgres::Transaction& tx, Kind kind, std::span<const RowDraft> rows) {
  if (rows.empty()) return {};
  std::string names;
  std::string values;
  for (const ExtraColumn& column : rows.front().extra) {
    names.append(", ").append(column.name);
    values += fmt::format(", r.{}::{}", column.name, column.type);
  }
  return write(
      tx,
      fmt::format("INSERT INTO {0} (organization_id, tenant_id, id, version, document{1}) SELECT r.organization_id, "
                  "r.tenant_id, r.id, coalesce((SELECT max(v.version) FROM versions v WHERE v.kind = '{2}' AND "
                  "v.tenant_id = r.tenant_id AND v.id = r.id), 0) + 1, r.document::json{3} FROM {4} ON CONFLICT DO "
                  "NOTHING RETURNING tenant_id, id, version",
                  info(kind).table(), names, info(kind).name, values, drafts_table(rows.front())),
      rows);
}

std::vector<std::int64_t> update_all(postgres::Transaction& tx, Kind kind, std::span<const RowDraft> rows) {
  if (rows.empty()) return {};
  std::string changes;
  for (const ExtraColumn& column : rows.front().extra) {
    changes += fmt::format(", {0} = r.{0}::{1}", column.name, column.type);
  }
  return write(
      tx,
      fmt::format("UPDATE {} t SET version = t.version + 1, updated_at = now(), document = r.document::json{} FROM {} "
                  "WHERE {} RETURNING t.tenant_id, t.id, t.version",
                  info(kind).table(), changes, drafts_table(rows.front()), same_row(kind)),
      rows);
}

std::vector<SharedName> find_shared_names(postgres::Transaction& tx, Kind kind, std::span<const ObjectId> keys) {
  const std::string sql = fmt::format(
      "SELECT t.tenant_id, t.id, t.name, min(other.id) FROM {0} t JOIN {1} ON {2} JOIN {0} other ON other.tenant_id = "
      "t.tenant_id AND other.name = t.name AND other.id <> t.id GROUP BY t.tenant_id, t.id, t.name ORDER BY "
      "t.tenant_id, "
      "t.id",
      info(kind).table(), kWanted, same_row(kind));
  std::vector<SharedName> found;
  in_parts(keys, [&](std::span<const ObjectId> part) {
    for (const auto& row : keys_of(part).run(tx, sql)) {
      found.push_back(
          {.key = {kind, row[0].c_str(), row[1].c_str()}, .name = row[2].c_str(), .other_id = row[3].c_str()});
    }
  });
  return found;
}

void remove_rows(postgres::Transaction& tx, Kind kind, std::span<const StoredObject> rows) {
  const std::string sql =
      fmt::format("DELETE FROM {} t USING {} WHERE {}", info(kind).table(), kWanted, same_row(kind));
  in_parts(rows, [&](std::span<const StoredObject> part) { keys_of(part).run(tx, sql); });
}

}  // namespace sluice::server::store
