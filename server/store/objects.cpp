#include "server/store/objects.hpp"

#include <array>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/crypto.hpp"
#include "server/store/statement.hpp"

namespace sluice::server::store {
namespace {

const std::string& columns_of(Kind kind) {
  static const std::string plain = fmt::format("organization_id, tenant_id, id, version, document, {}, {}",
                                               as_timestamp("created_at"), as_timestamp("updated_at"));
  static const std::string with_use = fmt::format("{}, {}", plain, as_timestamp("used_at"));
  return kind == Kind::key || kind == Kind::token ? with_use : plain;
}

StoredObject read(Kind kind, const pqxx::row& row) {
  return {.key = {kind, row[1].c_str(), row[2].c_str()},
          .organization_id = row[0].c_str(),
          .version = row[3].as<std::int64_t>(),
          .document = row[4].c_str(),
          .created_at = row[5].c_str(),
          .updated_at = row[6].c_str(),
          .used_at = row.size() > 7 ? row[7].c_str() : ""};
}

std::string_view lock_clause(Lock lock) {
  switch (lock) {
    case Lock::none:
      return "";
    case Lock::share:
      return " FOR SHARE";
    // NO KEY: primary keys never change, so a transaction that writes a reference to this row need not wait.
    case Lock::update:
      return " FOR NO KEY UPDATE";
  }
  return "";
}

void where_key(Statement& statement, const ObjectIdView& key) {
  statement.add(" WHERE id = $", std::string(key.id));
  if (info(key.kind).local_id) statement.add(" AND tenant_id = $", std::string(key.tenant_id));
}

}  // namespace

std::string random_id(Kind kind) {
  std::array<std::uint8_t, 6> bytes;
  random_bytes(bytes);
  return fmt::format("{}-{}", info(kind).name, to_hex(bytes));
}

std::string bundle_document(Kind kind, std::int64_t version, std::string_view document) {
  if (kind != Kind::policy || version == 1) return std::string(document);
  document.remove_suffix(1);
  return fmt::format(R"({},"version":{}}})", document, version);
}

// In a text value the quotes would be escaped, and the values of metadata are texts, so this is the member itself.
bool requires_key_by(std::string_view document) { return document.contains(R"("require_key_by":true)"); }

std::string shown_document(Kind kind, std::string_view document) {
  if ((kind != Kind::plan && kind != Kind::policy) || requires_key_by(document)) return std::string(document);
  document.remove_suffix(1);
  return fmt::format(R"({},"require_key_by":false}})", document);
}

std::optional<StoredObject> find(postgres::Transaction& tx, Kind kind, std::string_view tenant_id, std::string_view id,
                                 Lock lock) {
  Statement statement(fmt::format("SELECT {} FROM {}", columns_of(kind), info(kind).table()));
  where_key(statement, {.kind = kind, .tenant_id = tenant_id, .id = id});
  const pqxx::result rows = statement.add(lock_clause(lock)).run(tx);
  if (rows.empty()) return std::nullopt;
  return read(kind, rows[0]);
}

std::vector<StoredObject> list(postgres::Transaction& tx, Kind kind, const std::vector<Filter>& filters,
                               const Page& page) {
  Statement statement(fmt::format("SELECT {} FROM {} WHERE ", columns_of(kind), info(kind).table()));
  if (info(kind).local_id) {
    statement.add("(tenant_id, id) > ($, ", page.after_tenant_id).add("$)", page.after_id);
  } else {
    statement.add("id > $", page.after_id);
  }
  for (const Filter& filter : filters) statement.add(" AND ").add(filter.sql, filter.value);
  statement.add(info(kind).local_id ? " ORDER BY tenant_id, id" : " ORDER BY id");
  statement.add(fmt::format(" LIMIT {}", page.limit + 1));
  std::vector<StoredObject> found;
  for (const auto& row : statement.run(tx)) found.push_back(read(kind, row));
  return found;
}

StoredObject insert(postgres::Transaction& tx, const ObjectId& key, const std::string& organization_id,
                    const std::string& document, const std::vector<ExtraColumn>& extra) {
  std::string names = "organization_id, tenant_id, id, version, document";
  for (const ExtraColumn& column : extra) names.append(", ").append(column.name);
  Statement statement(fmt::format("INSERT INTO {} ({}) SELECT ", info(key.kind).table(), names));
  statement.add("$, ", organization_id).add("$, ", key.tenant_id).add("$, ", key.id);
  statement.add("coalesce((SELECT max(version) FROM versions WHERE kind = $", std::string(info(key.kind).name));
  statement.add(" AND organization_id = $", organization_id).add(" AND tenant_id = $", key.tenant_id);
  statement.add(" AND id = $), 0) + 1, ", key.id).add("$::json", document);
  for (const ExtraColumn& column : extra) statement.add(", ").add("$::", column.value).add(column.type);
  return read(key.kind, statement.add(" RETURNING ").add(columns_of(key.kind)).run(tx)[0]);
}

StoredObject update(postgres::Transaction& tx, const StoredObject& before, const std::string& document,
                    const std::vector<ExtraColumn>& extra) {
  Statement statement(
      fmt::format("UPDATE {} SET version = version + 1, updated_at = now()", info(before.key.kind).table()));
  statement.add(", document = $::json", document);
  for (const ExtraColumn& column : extra) {
    statement.add(", ").add(column.name).add(" = $::", column.value).add(column.type);
  }
  where_key(statement, before.key.view());
  return read(before.key.kind, statement.add(" RETURNING ").add(columns_of(before.key.kind)).run(tx)[0]);
}

std::vector<StoredObject> remove_all(postgres::Transaction& tx, Kind kind, const std::vector<Filter>& filters) {
  Statement statement(fmt::format("DELETE FROM {} WHERE true", info(kind).table()));
  for (const Filter& filter : filters) statement.add(" AND ").add(filter.sql, filter.value);
  std::vector<StoredObject> removed;
  for (const auto& row : statement.add(" RETURNING ").add(columns_of(kind)).run(tx)) removed.push_back(read(kind, row));
  return removed;
}

void remove(postgres::Transaction& tx, const ObjectIdView& key) {
  Statement statement(fmt::format("DELETE FROM {}", info(key.kind).table()));
  where_key(statement, key);
  statement.run(tx);
}

}  // namespace sluice::server::store
