#include "common/objects/limit_json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "common/base/duration.hpp"
#include "common/base/text.hpp"
#include "common/base/timestamp.hpp"
#include "common/domain/algorithm.hpp"
#include "common/domain/dimension_hint.hpp"
#include "common/domain/foreign_limits.hpp"
#include "common/domain/limit_fields.hpp"
#include "common/domain/limit_numbers.hpp"
#include "common/domain/rate.hpp"
#include "common/objects/field_tables.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMaxDimensionBytes = 256;
constexpr std::size_t kMaxKeyBy = 32;
constexpr json::Field kMaxOverride = object_field::kMaxOverride;
constexpr std::array<std::string_view, 3> kCommonFields{limit_field::kAlgorithm.name, limit_field::kStrategy.name,
                                                        limit_field::kUnit.name};

void read_limit(const json::Value& value, const json::Place& at, json::FaultList& faults, Limit& limit) {
  json::Fields fields(value, at, faults);
  if (!fields.is_object()) return;
  accept_limit_aliases(fields);
  if (const auto name = fields.text(limit_field::kName)) {
    limit.name = *name;
    if (!is_limit_name(*name)) {
      fields.fault("name", "name must be 1 to 63 characters from a-z 0-9 _ . -, starting with a letter, digit or _");
    }
  }
  read_key_by(fields, limit.key_by);
  read_limit_fields(fields, limit);
  fields.reject_unknown();
}

// Gives limits without a name the name of their algorithm. Adds a fault for each duplicate name.
void settle_names(std::vector<Limit>& limits, json::Fields& owner) {
  std::unordered_set<std::string> taken;
  const json::Place list = owner.at().member("limits");
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (limits[i].name.empty() || taken.insert(limits[i].name).second) continue;
    owner.faults().add(list.item(i), "name",
                       fmt::format("{} names two limits: names are unique within a plan", quoted(limits[i].name)));
  }
  for (Limit& limit : limits) {
    if (!limit.name.empty()) continue;
    const std::string base(to_string(limit.algorithm));
    limit.name = base;
    for (int n = 2; !taken.insert(limit.name).second; ++n) limit.name = fmt::format("{}-{}", base, n);
  }
}

void read_limit_list(json::Fields& owner, std::vector<Limit>& out) {
  const json::Value& list = *owner.take("limits");
  if (list.type() == json::Type::array && (list.items().empty() || list.items().size() > kMaxLimitsPerPlan)) {
    owner.fault("limits", fmt::format("a plan has 1 to {} limits, not {}", kMaxLimitsPerPlan, list.items().size()));
    return;
  }
  owner.each("limits", false, [&](const json::Value& value, const json::Place& at) {
    read_limit(value, at, owner.faults(), out.emplace_back());
  });
  settle_names(out, owner);
}

// `place`: the field that the fields of a limit belong into, `limits` or `algorithm`.
void reject_flat_fields(json::Fields& owner, std::string_view place) {
  const auto reject = [&](std::string_view name) {
    if (name == place || !owner.present(name)) return;
    owner.fault(name, fmt::format("{} stands beside {}: move it into the limit it belongs to", name, place));
  };
  for (const std::string_view name : kCommonFields) reject(name);
  for (const json::Field& field : kLimitFields) reject(field.name);
  refuse_foreign_limits(owner);
}

// Other limiters write {"algorithm": {"type": …, parameters}}.
void read_algorithm_object(json::Fields& owner, std::vector<Limit>& out) {
  reject_flat_fields(owner, limit_field::kAlgorithm.name);
  const json::Place at = owner.at().member(limit_field::kAlgorithm.name);
  json::Fields fields(*owner.take(limit_field::kAlgorithm.name), at, owner.faults());
  fields.accept_alias("type", limit_field::kAlgorithm.name);
  accept_limit_aliases(fields);
  Limit& limit = out.emplace_back();
  read_limit_fields(fields, limit);
  limit.name = to_string(limit.algorithm);
  fields.reject_unknown();
}

void reject_irreplaceable(json::Fields& fields, const Limit& limit) {
  const AlgorithmTraits& traits = traits_of(limit.algorithm);
  for (const json::Field& row : kLimitFields) {
    const std::string_view field = row.name;
    if (!fields.present(field) || is_replaceable(traits, field)) continue;
    fields.fault(field, fmt::format("an override cannot replace {} in limit {} ({}): it can replace {}", field,
                                    limit.name, traits.name, traits.replaceable));
  }
}

LimitChange read_replaced(json::Fields& fields, Limit& limit) {
  LimitChange change;
  const bool bucket = is_bucket(limit.algorithm);
  const std::string_view number = bucket ? only_one_of(fields, {"capacity", "bucket_capacity"}) : "limit";
  if (const auto value = fields.integer(number, limit_field::kLimit.min, limit_field::kLimit.max)) {
    limit.limit = *value;
    change.limit = true;
  }
  const std::string_view rate = bucket ? given_rate(fields, limit.algorithm) : "";
  if (const auto written = rate.empty() ? std::nullopt : read_rate(fields, rate)) {
    limit.rate = lowest_terms(written->units, written->per);
    change.rate = true;
  }
  if (const auto window = fields.duration(limit_field::kWindow)) {
    limit.window = *window;
    change.window = true;
  }
  if (const auto lease_ttl = fields.duration(limit_field::kLeaseTtl)) {
    limit.lease_ttl = *lease_ttl;
    change.lease_ttl = true;
  }
  return change;
}

LimitsForm read_limit_members(json::Fields& owner, std::vector<Limit>& out) {
  accept_limit_aliases(owner);
  if (owner.present("limits")) {
    reject_flat_fields(owner, "limits");
    read_limit_list(owner, out);
    return LimitsForm::list;
  }
  if (!has_flat_limit(owner)) return LimitsForm::none;
  const json::Value* const algorithm = owner.take(limit_field::kAlgorithm.name);
  if (algorithm != nullptr && algorithm->type() == json::Type::object) {
    read_algorithm_object(owner, out);
    return LimitsForm::flat;
  }
  Limit& limit = out.emplace_back();
  read_limit_fields(owner, limit);
  limit.name = to_string(limit.algorithm);
  return LimitsForm::flat;
}

// Adds a fault if the limit can never be so large.
void take_max_override(json::FaultList& faults, const json::Place& at, std::int64_t most, Limit& limit) {
  Limit largest = limit;
  largest.limit = most;
  if (auto fault = number_fault(largest)) {
    return faults.add(
        at, fmt::format("max_override {} is too large for limit {}: {}", most, quoted(limit.name), fault->text));
  }
  limit.max_override = most;
}

// `sound`: the limits have no faults.
void read_max_override(json::Fields& owner, LimitsForm form, std::vector<Limit>& limits, bool sound) {
  const json::Value* const value = owner.take(kMaxOverride.name);
  if (value == nullptr) return;
  if (limits.empty()) {
    if (form != LimitsForm::none) return;  // the limits have a fault that says more
    return owner.fault(kMaxOverride.name,
                       "max_override is not beside limits: write it where the limits are, which is "
                       "the plan if there is a plan_id");
  }
  const json::Place at = owner.at().member(kMaxOverride.name);
  if (value->type() != json::Type::object) {
    const auto most = owner.integer(kMaxOverride.name, kMaxOverride.min, kMaxOverride.max);
    if (!most || !sound) return;
    for (Limit& limit : limits) take_max_override(owner.faults(), at, *most, limit);
    return;
  }
  json::Fields fields(*value, at, owner.faults());
  for (json::Member& member : fields.members()) {
    if (member.taken) continue;  // a duplicate name, which is a fault already
    const auto limit = std::ranges::find(limits, member.name, &Limit::name);
    if (limit == limits.end()) {
      member.taken = true;
      NearestNames names(member.name);
      for (const Limit& known : limits) names.offer(known.name);
      fields.fault(member.name,
                   fmt::format("there is no limit {}.{}", quoted(member.name), did_you_mean(names.names())));
    } else if (const auto most = fields.integer(member.name, kMaxOverride.min, kMaxOverride.max); most && sound) {
      const json::Place place = at.member(member.name);
      take_max_override(owner.faults(), place, *most, *limit);
    }
  }
}

}  // namespace

bool has_flat_limit(json::Fields& owner) {
  accept_limit_aliases(owner);
  // No early return: present() must mark each field as known.
  bool found = has_foreign_limit(owner);
  for (const std::string_view name : kCommonFields) found |= owner.present(name);
  for (const json::Field& field : kLimitFields) found |= owner.present(field.name);
  return found;
}

LimitsForm read_limits(json::Fields& owner, std::vector<Limit>& out) {
  const std::size_t faults_before = owner.faults().count();
  const LimitsForm form = read_limit_members(owner, out);
  read_max_override(owner, form, out, owner.faults().count() == faults_before);
  return form;
}

LimitChange read_limit_change(json::Fields& fields, Limit& limit) {
  const std::size_t faults_before = fields.faults().count();
  accept_limit_aliases(fields);
  reject_irreplaceable(fields, limit);
  const LimitChange change = read_replaced(fields, limit);
  refuse_foreign_limits(fields);
  fields.reject_unknown();
  if (fields.faults().count() != faults_before) return change;
  if (!change.limit && !change.rate && !change.window && !change.lease_ttl) {
    fields.faults().add(fields.at(), fmt::format("nothing is replaced in limit {}: name at least one of {}", limit.name,
                                                 traits_of(limit.algorithm).replaceable));
    return change;
  }
  if (auto fault = number_fault(limit)) {
    fields.faults().add(fields.at(), std::move(fault->text));
    return change;
  }
  // A check may bring another limit to the override's rate and window.
  Limit largest = limit;
  largest.limit = limit.largest();
  if (auto fault = number_fault(largest)) {
    fields.faults().add(fields.at(), fmt::format("the numbers do not fit the max_override {} of limit {}: {}",
                                                 limit.max_override, limit.name, fault->text));
  }
  return change;
}

bool read_key_by(json::Fields& fields, std::vector<DimensionRef>& out) {
  const std::string_view name = limit_field::kKeyBy.name;
  if (!fields.present(name)) return false;
  out.clear();
  fields.each(name, true, [&](const json::Value& value, const json::Place& at) {
    if (value.type() != json::Type::string) {
      return fields.faults().add(at, json::wrong_type_text(name, value, "the name of a dimension, or a list of them"));
    }
    auto dimension = value.text().size() <= kMaxDimensionBytes ? parse_dimension(value.text()) : std::nullopt;
    if (dimension) {
      out.push_back(std::move(*dimension));
    } else {
      fields.faults().add(
          at, not_a_dimension(value.text(), "write one such as subject, resource, api_key, tag.NAME or attr.NAME"));
    }
  });
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  if (out.size() > kMaxKeyBy) fields.fault(name, fmt::format("{} has more than {} dimensions", name, kMaxKeyBy));
  return true;
}

void write_key_by(json::Writer& out, const std::vector<DimensionRef>& key_by) {
  std::vector<std::string> names;
  for (const DimensionRef& dimension : key_by) names.push_back(to_string(dimension));
  out.key(limit_field::kKeyBy.name);
  out.texts(names);
}

void write_limit(json::Writer& out, const Limit& limit) {
  out.begin_object();
  out.field("name", limit.name);
  out.field("algorithm", to_string(limit.algorithm));
  if (limit.unit != "requests") out.field("unit", limit.unit);
  const AlgorithmTraits& traits = traits_of(limit.algorithm);
  out.field(traits.capacity, limit.limit);
  if (!traits.rate.empty()) out.field(traits.rate, to_string(limit.rate));
  if (limit.window != Micros(0)) out.field("window", format_duration(limit.window));
  if (limit.align != Align::epoch) out.field("align", to_string(limit.align));
  if (limit.lease_ttl != Micros(0)) out.field("lease_ttl", format_duration(limit.lease_ttl));
  if (takes(traits, "period")) out.field("period", to_string(limit.period));
  if (limit.anchor) out.field("anchor", format_timestamp(*limit.anchor));
  if (!limit.key_by.empty()) write_key_by(out, limit.key_by);
  out.end_object();
}

void write_max_override(json::Writer& out, const std::vector<Limit>& limits) {
  if (std::ranges::none_of(limits, [](const Limit& limit) { return limit.max_override > 0; })) return;
  out.key(kMaxOverride.name);
  out.begin_object();
  for (const Limit& limit : limits) {
    if (limit.max_override > 0) out.field(limit.name, limit.max_override);
  }
  out.end_object();
}

}  // namespace sluice
