#include "common/limiter/program.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "common/limiter/plan_cost.hpp"
#include "common/limiter/traits.hpp"
#include "common/redis/command_writer.hpp"

namespace sluice::limiter {
namespace {

static_assert(std::endian::native == std::endian::little, "packed parameters are little-endian");

template <class Number>
void pack(std::string& out, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

// FNV-1a, 64 bits, folded to 32 (draft-eastlake-fnv).
std::uint32_t hash32(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

std::string counter_name(const Limit& limit) {
  std::string name = limit.name;
  name += '\0';
  name += to_string(limit.algorithm);
  if (traits_of(limit.algorithm).aligned) name += to_string(limit.align);
  return name;
}

Rule rule_of(const Limit& limit, bool with_debt) {
  const AlgorithmTraits& algorithm = traits_of(limit.algorithm);
  Rule rule;
  rule.kind = kind_of(limit, with_debt);
  rule.limit = static_cast<double>(limit.limit);
  rule.counter_id = counter_id(limit);
  rule.name_id = name_id(limit);
  const KindTraits& kind = traits_of(rule.kind);
  if (algorithm.p != nullptr) rule.p = algorithm.p(limit);
  if (algorithm.q != nullptr) rule.q = algorithm.q(limit);
  if (kind.derived_q != nullptr) rule.q = kind.derived_q(rule.limit, rule.p, rule.counter_id);
  rule.keeps_entries = kind.keeps_entries();
  rule.takes_leases = kind.takes_leases;
  rule.periodic = kind.periodic;
  rule.counts_requests = limit.unit == "requests";
  return rule;
}

void add_rules_by_group(const std::vector<Limit>& limits, bool with_debt, Program& program) {
  auto add = [&](std::size_t position, std::size_t group) {
    Rule rule = rule_of(limits[position], with_debt);
    rule.group = static_cast<std::uint8_t>(group);
    program.leases = static_cast<std::uint8_t>(program.leases + rule.takes_leases);
    program.collections = static_cast<std::uint8_t>(program.collections + rule.keeps_entries);
    program.has_quotas |= rule.periodic;
    program.groups[group].count++;
    program.rules.push_back(rule);
    program.limits.push_back(limits[position]);
    program.plan_position.push_back(static_cast<std::uint8_t>(position));
  };
  if (std::ranges::any_of(limits, [](const Limit& limit) { return limit.key_by.empty(); }))
    program.groups.emplace_back();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (limits[i].key_by.empty()) add(i, 0);
  }
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (limits[i].key_by.empty()) continue;
    Group& group = program.groups.emplace_back();
    group.first = static_cast<std::uint8_t>(program.rules.size());
    group.added = limits[i].key_by;
    add(i, program.groups.size() - 1);
  }
}

void lay_out(Group& group, const std::vector<Rule>& rules) {
  std::uint32_t values = 0;
  for (std::size_t i = 0; i < group.count; ++i) {
    const Rule& rule = rules[group.first + i];
    pack(group.ids, rule.counter_id);
    values += rule.counter_id % 4;
  }
  group.layout = std::max(1U, hash32(group.ids));
  group.state_format = "<I4I2" + std::string(values + 1, 'd');
  pack(group.untouched, group.layout);
  pack(group.untouched, static_cast<std::uint16_t>(group.count + 32 * values));
  group.untouched.append(8 * (values + 1), '\0');
  group.untouched += group.ids;
}

void pack_parameters(Program& program) {
  std::string& out = program.packed;
  program.packed_format = "<BB";
  pack(out, static_cast<std::uint8_t>(program.groups.size()));
  pack(out, std::uint8_t{0});
  for (const Group& group : program.groups) {
    program.packed_format += "I4I2Bd";
    pack(out, group.layout);
    pack(out, static_cast<std::uint16_t>(group.untouched.size()));
    pack(out, group.count);
    pack(out, program.max_delay_us);
    for (std::size_t i = group.first; i < std::size_t{group.first} + group.count; ++i) {
      const Rule& rule = program.rules[i];
      program.packed_format += "BI4ddd";
      pack(out, static_cast<std::uint8_t>(rule.kind));
      program.cost_offsets.push_back(static_cast<std::uint32_t>(out.size()));
      pack(out, std::uint32_t{0});
      pack(out, rule.limit);
      pack(out, rule.p);
      pack(out, rule.q);
    }
  }
  for (const Rule& rule : program.rules) pack(out, rule.name_id);

  redis::CommandWriter tail(program.script_tail);
  tail.bulk(program.packed_format);
  for (const Group& group : program.groups) tail.bulk(group.state_format).bulk(group.untouched).bulk(group.ids);
}

}  // namespace

std::uint32_t counter_id(const Limit& limit) {
  std::string what = counter_name(limit);
  if (const auto counter_text = traits_of(limit.algorithm).counter_text) what += counter_text(limit);
  return (hash32(what) & ~3U) | traits_of(kind_of(limit, false)).values;
}

std::uint32_t name_id(const Limit& limit) { return std::max(1U, hash32(counter_name(limit))); }

Program compile(const std::vector<Limit>& limits, std::optional<Micros> max_delay) {
  Program program;
  program.max_delay_us = max_delay ? static_cast<double>(max_delay->count()) : 0;
  add_rules_by_group(limits, max_delay.has_value(), program);
  for (Group& group : program.groups) lay_out(group, program.rules);
  program.is_single = program.rules.size() == 1 && program.collections == 0 && !program.has_quotas;
  pack_parameters(program);
  program.redis_time = std::chrono::microseconds(cost_of(limits).check_us);
  return program;
}

Program with_limits(const Program& whole, std::span<const std::int64_t> limits) {
  constexpr std::size_t kLimitBehindCost = 4;
  Program program = whole;
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    Rule& rule = program.rules[i];
    rule.brought = limits[i] > 0;
    program.packed += static_cast<char>(rule.brought);
    if (!rule.brought) continue;
    program.limits[i].limit = limits[i];
    rule.limit = static_cast<double>(limits[i]);
    const KindTraits& kind = traits_of(rule.kind);
    if (kind.derived_q != nullptr) rule.q = kind.derived_q(rule.limit, rule.p, rule.counter_id);
    const std::array numbers{rule.limit, rule.p, rule.q};
    std::memcpy(program.packed.data() + program.cost_offsets[i] + kLimitBehindCost, numbers.data(), sizeof numbers);
  }
  return program;
}

}  // namespace sluice::limiter
