#include "common/objects/field_tables.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "common/domain/algorithm.hpp"
#include "common/domain/check_fields.hpp"
#include "common/domain/dimension.hpp"
#include "common/domain/limit_fields.hpp"
#include "common/objects/bundle_lists.hpp"
#include "common/objects/scope_json.hpp"

namespace sluice {
namespace {

using json::Field;
using Rows = std::vector<Field>;

bool is_canonical(const AlgorithmTraits& traits, std::string_view field) {
  if (field == traits.capacity || field == traits.rate) return true;
  const bool is_bucket = !traits.rate.empty();
  return !is_bucket && field != "rate" && takes(traits, field);
}

// Adds the aliases of the rows.
void add_aliases(Rows& rows) {
  for (const json::FieldAlias& alias : kLimitAliases) {
    const auto row = std::ranges::find(rows, alias.field, &Field::name);
    if (row == rows.end()) continue;
    static constexpr std::string_view kHelp = "Another name of limit.";
    static constexpr std::string_view kWindowHelp = "Another name of window.";
    Field added = *row;
    added.name = alias.name;
    added.body_only = true;
    added.always = false;
    added.fallback = {};
    added.help = alias.field == "limit" ? kHelp : kWindowHelp;
    rows.push_back(added);
  }
}

Rows limit_rows(const AlgorithmTraits& traits) {
  Field algorithm = limit_field::kAlgorithm;
  algorithm = {.name = algorithm.name, .type = Field::Type::text, .choices = traits.name, .always = true};
  Rows rows{limit_field::kName, algorithm, limit_field::kUnit, limit_field::kKeyBy};
  for (Field field : kLimitFields) {
    if (!takes(traits, field.name)) continue;
    field.body_only = traits.shorthand || !is_canonical(traits, field.name);
    field.always = !field.body_only && field.fallback.empty() && field.name != limit_field::kAnchor.name;
    if (field.name == traits.capacity) field.max = traits.max_limit;
    rows.push_back(field);
  }
  add_aliases(rows);
  return rows;
}

// In the flat form, the fields of a limit are members of the plan or policy itself.
Rows flat_limit_rows() {
  Rows rows{limit_field::kAlgorithm, limit_field::kStrategy, limit_field::kUnit};
  rows.insert(rows.end(), kLimitFields.begin(), kLimitFields.end());
  add_aliases(rows);
  return rows;
}

Rows replaceable_rows() {
  Rows rows;
  for (const Field& field : kLimitFields) {
    const bool replaceable =
        std::ranges::any_of(algorithms_without_shorthands(),
                            [&field](const AlgorithmTraits& traits) { return is_replaceable(traits, field.name); });
    if (replaceable) rows.push_back(field);
  }
  return rows;
}

Rows scope_rows(bool shorthand) {
  Rows rows;
  for (std::size_t i = 0; i < kNamedDimensions; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    if (shorthand && !is_scope_shorthand(dimension)) continue;
    rows.push_back(
        {.name = dimension_name(dimension), .schema = dimension == Dimension::source_ip ? "SourceIps" : "ScopeValues"});
  }
  return rows;
}

class Tables {
 public:
  Tables() {
    for (const Kind kind : kAllKinds) {
      if (info(kind).in_bundle) tables_.push_back({info(kind).name, list_access(kind).fields});
    }
    add("check", check_field_rows());
    add("limit", flat_limit_rows());
    for (const AlgorithmTraits& traits : algorithm_rows()) {
      add(names_.emplace_back("limit.").append(traits.name), limit_rows(traits));
    }
    add("override.set", replaceable_rows());
    add("scope", scope_rows(false));
    add("scope.shorthand", scope_rows(true));
  }

  std::span<const json::FieldTable> all() const { return tables_; }

 private:
  void add(std::string_view name, Rows rows) { tables_.push_back({name, rows_.emplace_back(std::move(rows))}); }

  std::deque<std::string> names_;  // deques, because tables_ points into names_ and rows_
  std::deque<Rows> rows_;
  std::vector<json::FieldTable> tables_{{"enforcement", enforcement_field::kAll}};
};

}  // namespace

std::span<const json::FieldTable> field_tables() {
  static const Tables tables;
  return tables.all();
}

}  // namespace sluice
