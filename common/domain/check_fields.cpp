#include "common/domain/check_fields.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>

#include "common/base/letter_case.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/plan.hpp"

namespace sluice {
namespace {

using Kind = CheckField::Kind;

consteval CheckField named(std::string_view name, Dimension dimension, std::string_view help) {
  return {name, Kind::dimension, dimension, help};
}

consteval CheckField alias(std::string_view name, std::string_view of, Kind kind, Dimension dimension) {
  return {.name = name, .kind = kind, .dimension = dimension, .help = {}, .alias_of = of};
}

// Sorted by length, so that a look-up compares a name only with names of the same length.
constexpr std::array<CheckField, kCheckFields> kFields{{
    {.name = "cost",
     .kind = Kind::cost,
     .help =
         "Units of `requests` that the check costs; default 1. With 0 the agent reads the counters: no limit denies, "
         "nothing is charged, and no lease is taken. Not allowed together with costs.requests."},
    {.name = "tags", .kind = Kind::tags, .help = "Dimensions of your own; policies name them tag.NAME."},
    named("user", Dimension::user, "The end user of the call."),
    {.name = "wait",
     .kind = Kind::wait,
     .help =
         "How long the agent may hold the check until it fits: a duration such as \"2s\", from 0s to 1d; agents also "
         "take a whole number of at most 999 seconds. Never longer than the agent's --max-wait. Default: max_delay of "
         "the "
         "policy's action delay, else 0s. Not allowed in a batch."},
    {.name = "costs",
     .kind = Kind::costs,
     .help =
         "Costs in several units; each limit charges its own unit. `requests` is 1 if it is left out. Units that no "
         "limit uses are ignored."},
    named("topic", Dimension::topic, "The topic of a message."),
    {.name = "org_id",
     .kind = Kind::refused,
     .help = "follows from the credential (x-api-key) and is not sent; leave it out"},
    named("client", Dimension::client, "The client program."),
    named("method", Dimension::method, "The HTTP method."),
    named("region", Dimension::region, "The region."),
    named("signal", Dimension::signal, "logs, metrics, traces …"),
    named("subject", Dimension::subject,
          "What the request is counted for: an end user, a hash of a key, a client address …"),
    {.name = "plan_id", .kind = Kind::plan_id, .help = "The limits of this plan decide; policies are not matched."},
    named("service", Dimension::service, "The service that is called."),
    {.name = "explain", .kind = Kind::explain, .help = "The reply also has now_us, limits[] and candidates[]."},
    {.name = "api_key",
     .kind = Kind::refused,
     .help = "follows from the credential (x-api-key) and is not sent; leave it out"},
    alias("user_id", "user", Kind::dimension, Dimension::user),
    named("resource", Dimension::resource,
          "What the caller asks for. Required unless another dimension or plan_id is given."),
    alias("quantity", "cost", Kind::cost, {}),
    named("endpoint", Dimension::endpoint, "The route's template."),
    named("severity", Dimension::severity, "The severity of a log record."),
    named("job_type", Dimension::job_type, "The kind of a job."),
    named("priority", Dimension::priority,
          "With the action drop_low_priority, only checks of priority `low` are denied."),
    {.name = "tenant_id",
     .kind = Kind::tenant_id,
     .help = "Follows from the API key. A tenant_id that differs from the key's tenant is refused with 422."},
    {.name = "timestamp",
     .kind = Kind::refused,
     .help = "is not sent: the time of a check is that of the counter store; leave it out"},
    named("operation", Dimension::operation, "A named operation."),
    named("client_id", Dimension::client_id, "The client's id."),
    named("source_ip", Dimension::source_ip, "The address from which the request came."),
    named("span_name", Dimension::span_name, "The name of a span."),
    {.name = "request_id", .kind = Kind::request_id, .help = "The reply and the decision log repeat it."},
    {.name = "attributes", .kind = Kind::attributes, .help = "Dimensions of your own; policies name them attr.NAME."},
    alias("signal_type", "signal", Kind::dimension, Dimension::signal),
    named("application", Dimension::application, "The calling application."),
    named("environment", Dimension::environment, "production, staging …"),
    named("consumer_group", Dimension::consumer_group, "The consumer group."),
    {.name = "limit_override",
     .kind = Kind::limit_override,
     .help =
         "Limits for this check only: name of the limit to its limit or capacity. The API key needs may_override, and "
         "the plan a max_override that is not smaller."},
}};

constexpr std::size_t kLongestName = kFields.back().name.size();
static_assert(std::ranges::is_sorted(kFields, {}, [](const CheckField& field) { return field.name.size(); }));

// kFirst[n]: index of the first name with n or more bytes.
constexpr std::array<std::uint8_t, kLongestName + 2> kFirst = [] {
  std::array<std::uint8_t, kLongestName + 2> first{};
  for (std::size_t length = 0; length < first.size(); ++length) {
    const auto at =
        std::ranges::lower_bound(kFields, length, {}, [](const CheckField& field) { return field.name.size(); });
    first[length] = static_cast<std::uint8_t>(at - kFields.begin());
  }
  return first;
}();

// kCanonical[n]: the place of the field that kFields[n] is, or stands for.
constexpr std::array<std::uint8_t, kCheckFields> kCanonical = [] {
  std::array<std::uint8_t, kCheckFields> places{};
  for (std::size_t i = 0; i < kCheckFields; ++i) {
    const std::string_view name = kFields[i].alias_of.empty() ? kFields[i].name : kFields[i].alias_of;
    places[i] = static_cast<std::uint8_t>(std::ranges::find(kFields, name, &CheckField::name) - kFields.begin());
  }
  return places;
}();

// The edit distance (optimal string alignment), ignoring case. REQUIRES: `name` has at most kLongestName + 2 bytes.
std::size_t distance(std::string_view name, std::string_view field) {
  constexpr std::size_t kColumns = kLongestName + 1;
  std::array<std::array<std::size_t, kColumns>, kLongestName + 3> rows{};
  for (std::size_t i = 0; i <= name.size(); ++i) {
    for (std::size_t j = 0; j <= field.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const bool same = lower_case(name[i - 1]) == field[j - 1];
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && lower_case(name[i - 1]) == field[j - 2] && lower_case(name[i - 2]) == field[j - 1];
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[name.size()][field.size()];
}

// The help of an alias is one text for each alias, because rows keep only a view.
std::string_view alias_help(const CheckField& field) {
  if (field.alias_of == "user") return "Another name of user.";
  if (field.alias_of == "signal") return "Another name of signal.";
  return field.alias_of == "cost" ? "Another name of cost." : field.help;
}

}  // namespace

const CheckField* find_check_field(std::string_view name) {
  if (name.size() > kLongestName) return nullptr;
  for (std::size_t i = kFirst[name.size()]; i < kFirst[name.size() + 1]; ++i) {
    if (kFields[i].name == name) return &kFields[i];
  }
  return nullptr;
}

std::vector<json::Field> check_field_rows() {
  std::vector<json::Field> rows;
  for (const CheckField& field : kFields) {
    using Type = json::Field::Type;
    const bool is_cost = field.kind == Kind::cost;
    const bool is_flag = field.kind == Kind::explain;
    if (field.kind == Kind::refused) continue;
    rows.push_back({.name = field.name,
                    .type = is_cost   ? Type::integer
                            : is_flag ? Type::boolean
                                      : Type::text,
                    .max = is_cost ? kMaxCost : static_cast<std::int64_t>(kMaxValueBytes),
                    .help = alias_help(field)});
  }
  std::ranges::sort(rows, {}, [](const json::Field& row) {
    const CheckField* const field = find_check_field(row.name);
    const bool is_dimension = field->kind == Kind::dimension;
    return std::tuple(is_dimension ? static_cast<std::size_t>(field->dimension) : kNamedDimensions,
                      check_field_index(field), !field->alias_of.empty());
  });
  return rows;
}

std::size_t check_field_index(const CheckField* field) {
  return kCanonical[static_cast<std::size_t>(field - kFields.data())];
}

const CheckField* check_field_of_go(std::string_view name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (name.empty() || !is_upper(name.front()) || name.size() > kLongestName) return nullptr;
  std::string snake;
  for (std::size_t i = 0; i < name.size(); ++i) {
    // A word begins at a capital after a small letter, and at the last of several capitals if a small letter follows.
    const bool begins =
        i > 0 && is_upper(name[i]) && (!is_upper(name[i - 1]) || (i + 1 < name.size() && !is_upper(name[i + 1])));
    if (begins) snake += '_';
    snake += lower_case(name[i]);
  }
  return find_check_field(snake);
}

std::string_view nearest_check_field(std::string_view name) {
  if (name.size() > kLongestName + 2) return {};
  // Allows one edit for each three bytes of `name`, but at most two edits.
  std::size_t nearest = std::min<std::size_t>(name.size() / 3, 2) + 1;
  std::string_view hint;
  for (const CheckField& field : kFields) {
    if (field.kind == Kind::refused || field.kind == Kind::tenant_id || !field.alias_of.empty()) continue;
    const std::size_t d = distance(name, field.name);
    if (d >= nearest) continue;
    nearest = d;
    hint = field.name;
  }
  return hint;
}

}  // namespace sluice
