#include "server/admin/analytics_api.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pqxx/pqxx>

#include "common/base/timestamp.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "common/telemetry/decision_log.hpp"
#include "server/admin/object_parts.hpp"
#include "server/admin/paging.hpp"
#include "server/http/refusal.hpp"
#include "server/store/statement.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::chrono::hours kDefaultWindow{1};
constexpr std::chrono::hours kDenialsWindow{24};
constexpr std::size_t kMaxForemost = 100;  // throttled subjects, or unmatched resources
// A cursor of read_groups() holds the time range of the answer (in store::Page::after_tenant_id), and the values of
// the last row of the page (in after_id). No value contains a space.
constexpr char kCursorSeparator = ' ';

// The time range of an answer (not the window of a limit). Includes `since`, excludes `until`.
struct Window {
  WallTime since;
  WallTime until;
};

// One row of usage covers a `Unit` of time, so `since` is rounded down to the start of a row.
template <class Unit>
Window read_window(const Context& context, std::chrono::hours length = kDefaultWindow) {
  Faults faults;
  const auto read_time = [&](std::string_view name, WallTime fallback) {
    const std::string_view text = context.call.parameter(name);
    if (text.empty()) return fallback;
    const auto time = parse_timestamp(text);
    if (time) return *time;
    faults.push_back({fmt::format("?{}", name), time.error().text});
    return fallback;
  };
  Window window;
  window.until = read_time("until", WallTime(Micros(context.now_us)));
  window.since = std::chrono::floor<Unit>(read_time("since", window.until - length));
  if (faults.empty() && window.until <= window.since) faults.push_back({"?since", "since must be before until"});
  if (!faults.empty()) http::refuse_faults(400, std::move(faults));
  return window;
}

Answer open_answer(const Window& window) {
  Answer answer;
  answer.object = open_object();
  answer.object->field("since", format_timestamp(window.since));
  answer.object->field("until", format_timestamp(window.until));
  return answer;
}

void add_filters(const Call& call, const Window& window, std::string_view time_column, store::Statement& statement) {
  statement.add(fmt::format(" WHERE {} >= $::timestamptz", time_column), format_timestamp(window.since));
  statement.add(fmt::format(" AND {} < $::timestamptz", time_column), format_timestamp(window.until));
  for (const std::string_view name : {"tenant_id", "policy_id", "outcome"}) {
    if (const auto value = call.parameter(name); !value.empty()) {
      statement.add(fmt::format(" AND {} = $", name), std::string(value));
    }
  }
}

// A column by which counts are grouped (not a dimension of checks).
struct Dimension {
  std::string_view name;  // the column in SQL and the member in the answer
  std::string sql;
  bool is_time = false;
};

constexpr std::array<std::string_view, 6> kChoices{"tenant", "policy", "outcome", "minute", "hour", "day"};
constexpr std::array<std::string_view, 5> kUtilizationChoices{"tenant", "policy", "minute", "hour", "day"};

// Reads the parameter `by`. Returns the dimensions in the order in which rows are sorted. Ids of policies are unique
// only within a tenant, so grouping by policy groups by tenant too.
std::vector<Dimension> read_dimensions(const Call& call, std::string_view fallback,
                                       std::span<const std::string_view> choices) {
  std::string_view list = call.parameter("by");
  if (list.empty()) list = fallback;
  std::array<bool, kChoices.size()> given{};
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view word = list.substr(begin, end - begin);
    check_choice("by", word, choices);
    given[static_cast<std::size_t>(std::ranges::find(kChoices, word) - kChoices.begin())] = true;
    begin = end + 1;
  }
  const auto [tenant, policy, outcome, minute, hour, day] = given;
  if (minute + hour + day > 1) http::refuse_fault(400, "?by", "name only one of minute, hour and day");
  std::vector<Dimension> dimensions;
  for (const std::size_t unit : {3U, 4U, 5U}) {
    if (given[unit]) dimensions.push_back({"at", fmt::format("date_trunc('{}', minute)", kChoices[unit]), true});
  }
  if (tenant || policy) dimensions.push_back({"tenant_id", "tenant_id"});
  if (policy) dimensions.push_back({"policy_id", "policy_id"});
  if (outcome) dimensions.push_back({"outcome", "outcome"});
  return dimensions;
}

std::string columns_of(const std::vector<Dimension>& dimensions, bool times_as_rfc3339) {
  std::vector<std::string> names;
  for (const Dimension& dimension : dimensions) {
    names.push_back(times_as_rfc3339 && dimension.is_time ? store::as_timestamp("at") : std::string(dimension.name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The page begins after the last row of the previous page.
void continue_after(const store::Page& page, const std::vector<Dimension>& dimensions, store::Statement& statement) {
  if (page.after_tenant_id.empty()) return;
  std::vector<std::string> values;
  for (std::string_view rest = page.after_id; values.size() < dimensions.size();) {
    const std::size_t end = std::min(rest.find(kCursorSeparator), rest.size());
    values.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  statement.add(fmt::format(" WHERE ({}) > (", columns_of(dimensions, false)));
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i].is_time && !parse_timestamp(values[i])) refuse_cursor();
    statement.add(i == 0 ? "" : ", ").add(dimensions[i].is_time ? "$::timestamptz" : "$", values[i]);
  }
  statement.add(")");
}

// All pages have the window of the first page. Without `until`, each page would otherwise end at the time of its call.
Window window_of(const Context& context, const store::Page& page) {
  if (page.after_tenant_id.empty()) return read_window<std::chrono::minutes>(context);
  const std::size_t separator = page.after_tenant_id.find(kCursorSeparator);
  if (separator == std::string::npos) refuse_cursor();
  const auto since = parse_timestamp(page.after_tenant_id.substr(0, separator));
  const auto until = parse_timestamp(page.after_tenant_id.substr(separator + 1));
  if (!since || !until) refuse_cursor();
  return {.since = *since, .until = *until};
}

// Outcomes of shadow policies are counted separately.
std::string totals(Context& context, const Window& window) {
  store::Statement statement(
      R"(SELECT coalesce(sum(count) FILTER (WHERE outcome NOT IN ('shadow_denied', 'shadow_allowed')), 0),
 coalesce(sum(count) FILTER (WHERE outcome = 'shadow_denied'), 0),
 coalesce(sum(count) FILTER (WHERE outcome = 'shadow_allowed'), 0) FROM usage)");
  add_filters(context.call, window, "minute", statement);
  const pqxx::result rows = statement.run(context.tx);
  return fmt::format(R"({{"decisions":{},"shadow":{{"would_deny":{},"would_allow":{}}}}})", rows[0][0].c_str(),
                     rows[0][1].c_str(), rows[0][2].c_str());
}

// The mean share that was used, rounded to four digits.
constexpr std::string_view kUtilizationSums =
    "sum(decisions) AS decisions, sum(near_limit) AS near_limit, "
    "round(least(sum(used), 10000 * sum(decisions)) / (10000 * sum(decisions)), 4)::float8 AS utilization";
constexpr std::array<std::string_view, 3> kUtilizationNames{"decisions", "near_limit", "utilization"};

std::string utilization_totals(Context& context, const Window& window) {
  store::Statement statement(fmt::format("SELECT {} FROM usage_utilization", kUtilizationSums));
  add_filters(context.call, window, "minute", statement);
  const pqxx::row row = statement.run(context.tx)[0];
  const auto or_else = [&row](int column, const char* text) {
    return row[column].is_null() ? text : row[column].c_str();
  };
  return fmt::format(R"({{"decisions":{},"near_limit":{},"utilization":{}}})", or_else(0, "0"), or_else(1, "0"),
                     or_else(2, "null"));
}

// A table of counts by minute, what to add up of it, and the names of the sums in the answer. All sums are numbers.
struct Summed {
  std::string_view table;
  std::string_view sums;
  std::vector<std::string_view> names;
};

std::string row_document(const pqxx::row& row, const std::vector<Dimension>& dimensions,
                         const std::vector<std::string_view>& names) {
  std::string text = "{";
  int column = 0;
  for (const Dimension& dimension : dimensions) {
    text += fmt::format(R"("{}":{},)", dimension.name, json::string_literal(row[column++].c_str()));
  }
  for (const std::string_view name : names) text += fmt::format(R"("{}":{},)", name, row[column++].c_str());
  text.back() = '}';
  return text;
}

std::string cursor_of(const Window& window, const pqxx::row& row, std::size_t dimensions) {
  std::string values;
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (i != 0) values += kCursorSeparator;
    values += row[static_cast<int>(i)].c_str();
  }
  return cursor_after(
      fmt::format("{}{}{}", format_timestamp(window.since), kCursorSeparator, format_timestamp(window.until)), values);
}

struct Grouped {
  std::vector<std::string> items;  // JSON
  std::string next;                // a cursor, or "" on the last page
};

Grouped read_groups(Context& context, const store::Page& page, const Window& window,
                    const std::vector<Dimension>& dimensions, const Summed& what) {
  store::Statement statement(
      fmt::format("SELECT {}, {} FROM (SELECT ", columns_of(dimensions, true), fmt::join(what.names, ", ")));
  for (const Dimension& dimension : dimensions) statement.add(fmt::format("{} AS {}, ", dimension.sql, dimension.name));
  statement.add(fmt::format("{} FROM {}", what.sums, what.table));
  add_filters(context.call, window, "minute", statement);
  std::vector<std::string> groups;
  for (const Dimension& dimension : dimensions) groups.push_back(dimension.sql);
  statement.add(fmt::format(" GROUP BY {}) AS summed", fmt::join(groups, ", ")));
  continue_after(page, dimensions, statement);
  statement.add(fmt::format(" ORDER BY {} LIMIT {}", columns_of(dimensions, false), page.limit + 1));
  const pqxx::result rows = statement.run(context.tx);
  Grouped grouped;
  for (const auto& row : rows) {
    if (grouped.items.size() == page.limit) {
      grouped.next = cursor_of(window, rows[row.num() - 1], dimensions.size());
      break;
    }
    grouped.items.push_back(row_document(row, dimensions, what.names));
  }
  return grouped;
}

Answer grouped_answer(const Window& window, const std::string& totals, const Grouped& grouped) {
  Answer answer = open_answer(window);
  answer.object->key("totals");
  answer.object->raw(totals);
  write_list(*answer.object, grouped.next, [&grouped](json::Writer& out) {
    for (const std::string& item : grouped.items) out.raw(item);
  });
  return answer;
}

// The groups of rows with the highest sums. `columns`: the names by which rows are grouped, with ", " between them.
Answer list_foremost(Context& context, std::string_view table, std::string_view columns) {
  const store::Page page = read_page(context.call);
  if (page.limit > kMaxForemost) {
    http::refuse_fault(400, "?limit", fmt::format("limit is a whole number from 1 to {}", kMaxForemost));
  }
  const Window window = read_window<std::chrono::hours>(context);
  store::Statement statement(fmt::format("SELECT sum(count) AS count, {} FROM {}", columns, table));
  add_filters(context.call, window, "hour", statement);
  statement.add(fmt::format(" GROUP BY {0} ORDER BY 1 DESC, {0} LIMIT {1}", columns, page.limit));
  const pqxx::result rows = statement.run(context.tx);
  Answer answer = open_answer(window);
  json::Writer& out = *answer.object;
  out.key("items");
  out.begin_list();
  for (const auto& row : rows) {
    out.begin_object();
    for (pqxx::row_size_type column = 1; column < row.size(); ++column) {
      out.field(rows.column_name(column), row[column].c_str());
    }
    out.field("count", row[0].as<std::int64_t>());
    out.end_object();
  }
  out.end_list();
  return answer;
}

}  // namespace

Answer list_analytics(Context& context) {
  const store::Page page = read_page(context.call);
  const std::vector<Dimension> dimensions = read_dimensions(context.call, "policy,outcome", kChoices);
  const Window window = window_of(context, page);
  const Grouped grouped = read_groups(context, page, window, dimensions,
                                      {.table = "usage", .sums = "sum(count) AS count", .names = {"count"}});
  return grouped_answer(window, totals(context, window), grouped);
}

Answer list_utilization(Context& context) {
  const store::Page page = read_page(context.call);
  const std::vector<Dimension> dimensions = read_dimensions(context.call, "policy", kUtilizationChoices);
  const Window window = window_of(context, page);
  const Grouped grouped = read_groups(context, page, window, dimensions,
                                      {.table = "usage_utilization",
                                       .sums = kUtilizationSums,
                                       .names = {kUtilizationNames.begin(), kUtilizationNames.end()}});
  return grouped_answer(window, utilization_totals(context, window), grouped);
}

Answer list_throttled_subjects(Context& context) {
  return list_foremost(context, "usage_subjects", "tenant_id, policy_id, subject");
}

// A policy's `report_subjects` says in which of two forms agents name the subject.
Answer list_denials(Context& context) {
  const std::string tenant = tenant_of(context, Kind::policy);
  if (tenant.empty()) http::refuse_fault(422, "?tenant_id", "tenant_id is missing: name the tenant of the subject");
  const std::string subject(context.call.parameter("subject"));
  const store::Page page = read_page(context.call);
  if (subject.empty()) http::refuse_fault(400, "?subject", "subject is missing: name it as checks do, such as user:42");
  const Window window = read_window<std::chrono::hours>(context, kDenialsWindow);
  if (!store::find(context.tx, Kind::tenant, "", tenant)) http::refuse_unknown("tenant", tenant);
  const std::string hashed = fmt::format("sha256:{}", telemetry::subject_hash(tenant, subject));
  store::Statement statement(
      fmt::format("SELECT {}, policy_id, sum(count) FROM usage_subjects", store::as_timestamp("hour")));
  statement.add(" WHERE hour >= $::timestamptz", format_timestamp(window.since));
  statement.add(" AND hour < $::timestamptz", format_timestamp(window.until));
  statement.add(" AND tenant_id = $", tenant).add(" AND subject IN ($, ", hashed).add("$)", subject);
  if (const auto policy = context.call.parameter("policy_id"); !policy.empty()) {
    statement.add(" AND policy_id = $", std::string(policy));
  }
  statement.add(fmt::format(" GROUP BY hour, policy_id ORDER BY hour DESC, policy_id LIMIT {}", page.limit + 1));
  const pqxx::result rows = statement.run(context.tx);
  Answer answer = open_answer(window);
  json::Writer& out = *answer.object;
  out.field("tenant_id", tenant);
  out.field("subject_hash", hashed);
  out.key("items");
  out.begin_list();
  for (const auto& row : rows) {
    if (static_cast<std::size_t>(row.num()) == page.limit) break;
    out.begin_object();
    out.field("at", row[0].c_str());
    out.field("policy_id", row[1].c_str());
    out.field("count", row[2].as<std::int64_t>());
    out.end_object();
  }
  out.end_list();
  out.field("more", rows.size() > page.limit);
  return answer;
}

Answer list_unmatched_resources(Context& context) {
  return list_foremost(context, "usage_unmatched", "tenant_id, resource");
}

}  // namespace sluice::server::admin
