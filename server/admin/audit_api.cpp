#include "server/admin/audit_api.hpp"

#include <charconv>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/text.hpp"
#include "common/base/timestamp.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "server/admin/paging.hpp"
#include "server/http/refusal.hpp"
#include "server/store/change_log.hpp"
#include "server/store/statement.hpp"

namespace sluice::server::admin {
namespace {

struct EqualFilter {
  std::string_view parameter;
  std::string_view sql;
};
constexpr std::array kEqualFilters{EqualFilter{"tenant_id", " AND tenant_id = $"}, EqualFilter{"kind", " AND kind = $"},
                                   EqualFilter{"object_id", " AND object_id = $"},
                                   EqualFilter{"actor_id", " AND actor_id = $"}};

// Adds a fault for an invalid time.
std::optional<std::string> read_time(const Call& call, std::string_view name, Faults& faults) {
  const std::string_view text = call.parameter(name);
  if (text.empty()) return std::nullopt;
  const auto time = parse_timestamp(text);
  if (time) return format_timestamp(*time);
  faults.push_back({fmt::format("?{}", name), time.error().text});
  return std::nullopt;
}

// Sorts the entries, the newest first, as indexes of the table do. `seq` counts the entries of one organization.
class Order {
 public:
  explicit Order(const Context& context) : organization_(context.call.parameter("organization_id")) {
    if (organization_.empty()) organization_ = context.principal.organization_id;
  }

  // Adds the SQL conditions for the organization and the page.
  void continue_after(const store::Page& page, store::Statement& statement) const {
    if (!organization_.empty()) statement.add(" AND organization_id = $", organization_);
    if (page.after_id.empty()) return;
    const std::size_t separator = page.after_id.find(':');
    if (separator == std::string::npos) refuse_cursor();
    const std::string revision = number(page.after_id.substr(0, separator));
    const std::string seq = number(page.after_id.substr(separator + 1));
    if (organization_.empty()) {
      statement.add(" AND (revision, organization_id, seq) < ($::bigint, ", revision);
      statement.add("$, ", page.after_tenant_id).add("$::bigint)", seq);
    } else {
      statement.add(" AND seq < $::bigint", seq);
    }
  }
  std::string_view sql() const {
    return organization_.empty() ? " ORDER BY revision DESC, organization_id DESC, seq DESC" : " ORDER BY seq DESC";
  }

 private:
  // Refuses the cursor if `text` is not a number.
  static std::string number(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) refuse_cursor();
    return text;
  }

  std::string organization_;  // "" stands for all organizations in scope
};

void filter(const Call& call, store::Statement& statement) {
  Faults faults;
  const auto since = read_time(call, "since", faults);
  const auto until = read_time(call, "until", faults);
  if (const auto kind = call.parameter("kind"); !kind.empty() && !kind_from(kind)) {
    faults.push_back({"?kind", fmt::format("there is no kind {}; there are {}", quoted(kind), kind_names())});
  }
  if (!faults.empty()) http::refuse_faults(400, std::move(faults));
  if (since) statement.add(" AND made_at >= $::timestamptz", *since);
  if (until) statement.add(" AND made_at < $::timestamptz", *until);
  for (const auto& [parameter, sql] : kEqualFilters) {
    if (const auto value = call.parameter(parameter); !value.empty()) statement.add(sql, std::string(value));
  }
}

// The numbers of the columns that columns() names.
enum Column : std::uint8_t {
  organization_id,
  seq,
  at,
  actor_id,
  actor_role,
  source,
  request_id,
  action,
  kind,
  tenant_id,
  object_id,
  version,
  before,
  after,
  revision,
  hash
};
const std::string& columns() {
  static const std::string names = fmt::format(
      "organization_id, seq, {}, actor_id, actor_role, source, request_id, action, kind, tenant_id, object_id, "
      "version, before, after, revision, encode(hash, 'hex')",
      store::as_timestamp("made_at"));
  return names;
}

std::string entry_json(const pqxx::row& row) {
  std::string text = "{";
  const auto add = [&text](std::string_view name, std::string_view json) {
    text.append(text.size() > 1 ? "," : "").append("\"").append(name).append("\":").append(json);
  };
  const auto add_text = [&](std::string_view name, Column column) {
    add(name, json::string_literal(row[column].c_str()));
  };
  // The column is empty if the entry belongs to no organization or tenant.
  const auto add_owner = [&](std::string_view name, Column column) {
    add(name, row[column].size() == 0 ? "null" : json::string_literal(row[column].c_str()));
  };
  const auto add_document = [&](std::string_view name, Column column) {
    add(name, row[column].is_null() ? "null" : row[column].c_str());
  };
  add_owner("organization_id", organization_id);
  add("seq", row[seq].c_str());
  add_text("at", at);
  add_text("actor_id", actor_id);
  add_text("actor_role", actor_role);
  const store::RecordedSource from = store::read_source(row[source].c_str());
  add("source", json::string_literal(from.address));
  add("session_id", from.session_id.empty() ? "null" : json::string_literal(from.session_id));
  add_text("request_id", request_id);
  add_text("action", action);
  add_text("kind", kind);
  add_owner("tenant_id", tenant_id);
  add_text("object_id", object_id);
  add("version", row[version].c_str());
  add_document("before", before);
  add_document("after", after);
  add("revision", row[revision].c_str());
  add_text("hash", hash);
  return text += '}';
}

}  // namespace

Answer list_audit(Context& context) {
  const store::Page page = read_page(context.call);
  const Order order(context);
  store::Statement statement(fmt::format("SELECT {} FROM audit WHERE true", columns()));
  filter(context.call, statement);
  order.continue_after(page, statement);
  const pqxx::result rows = statement.add(order.sql()).add(fmt::format(" LIMIT {}", page.limit + 1)).run(context.tx);
  std::vector<std::string> items;
  std::string next;
  for (const auto& row : rows) {
    if (items.size() == page.limit) {
      const pqxx::row last = rows[row.num() - 1];
      next =
          cursor_after(last[organization_id].c_str(), fmt::format("{}:{}", last[revision].c_str(), last[seq].c_str()));
      break;
    }
    items.push_back(entry_json(row));
  }
  return list_answer(next, items);
}

Answer get_revision(Context& context) {
  const store::Revision newest = store::head(context.tx);
  Answer answer;
  answer.body = fmt::format(R"({{"revision":{},"chain":"{}","at":"{}"}})", newest.number, newest.chain, newest.made_at);
  return answer;
}

}  // namespace sluice::server::admin
