#include "common/limiter/program.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

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

// FNV-1a, 64 bits, folded to 32 (Fowler, Noll, Vo; draft-eastlake-fnv).
std::uint32_t hash32(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

std::uint32_t width_of(const Limit& limit) {
  switch (limit.algorithm) {
    case Algorithm::sliding_window:
      return 2;
    case Algorithm::fixed_window:
      return limit.align == Align::first ? 2 : 1;
    case Algorithm::sliding_window_log:
    case Algorithm::concurrency:
      return 0;
    default:
      return 1;
  }
}

Kind kind_of(const Limit& limit, bool with_debt) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
      return with_debt ? Kind::bucket_with_debt : Kind::token_bucket;
    case Algorithm::leaky_bucket:
      return with_debt ? Kind::bucket_with_debt : Kind::leaky_bucket;
    case Algorithm::fixed_window:
      return limit.align == Align::first ? Kind::first_window : Kind::fixed_window;
    case Algorithm::sliding_window:
      return Kind::sliding_window;
    case Algorithm::sliding_window_log:
      return Kind::log;
    case Algorithm::concurrency:
      return Kind::lease;
    case Algorithm::quota:
      break;
  }
  return Kind::quota;
}

Rule rule_of(const Limit& limit, bool with_debt) {
  Rule rule;
  rule.kind = kind_of(limit, with_debt);
  rule.limit = static_cast<double>(limit.limit);
  rule.counter_id = counter_id(limit);
  rule.name_id = name_id(limit);
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket:
      rule.p = static_cast<double>(limit.rate.units);
      rule.q = static_cast<double>(limit.rate.per_us);
      break;
    case Algorithm::sliding_window:
      rule.p = static_cast<double>(limit.window.count());
      rule.q = sliding_tick_us(rule.limit, rule.p);
      break;
    case Algorithm::sliding_window_log:
      rule.p = static_cast<double>(limit.window.count());
      rule.q = rule.counter_id;
      break;
    case Algorithm::fixed_window:
      rule.p = static_cast<double>(limit.window.count());
      break;
    case Algorithm::concurrency:
      rule.p = static_cast<double>(limit.lease_ttl.count());
      break;
    case Algorithm::quota:
      break;
  }
  return rule;
}

// Rules ordered by group: first those of the policy's own identity, then each limit that adds dimensions.
void order_rules(const std::vector<Limit>& limits, bool with_debt, Program& program) {
  auto add = [&](std::size_t position, std::size_t group) {
    Rule rule = rule_of(limits[position], with_debt);
    rule.group = static_cast<std::uint8_t>(group);
    program.leases = static_cast<std::uint8_t>(program.leases + (rule.kind == Kind::lease));
    program.collections = static_cast<std::uint8_t>(program.collections + (rule.kind >= Kind::log));
    program.has_quotas |= rule.kind == Kind::quota;
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
  program.packed_format = "<BBd";
  pack(out, static_cast<std::uint8_t>(program.groups.size()));
  pack(out, std::uint8_t{0});
  pack(out, program.max_delay_us);
  for (const Group& group : program.groups) {
    program.packed_format += "I4I2B";
    pack(out, group.layout);
    pack(out, static_cast<std::uint16_t>(group.untouched.size()));
    pack(out, group.count);
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

double sliding_tick_us(double limit, double window_us) {
  double tick = 1;
  while (limit * std::ceil(window_us / tick) > kExact && tick < 1e6) tick *= 1000;
  return tick;
}

std::uint32_t counter_id(const Limit& limit) {
  std::string what = limit.name;
  what += '\0';
  what += to_string(limit.algorithm);
  switch (limit.algorithm) {
    case Algorithm::fixed_window:
      what += to_string(limit.align);
      [[fallthrough]];
    case Algorithm::sliding_window:
    case Algorithm::sliding_window_log:
      what += std::to_string(limit.window.count());
      break;
    case Algorithm::quota:
      what += to_string(limit.period);
      if (limit.anchor) what += std::to_string(limit.anchor->time_since_epoch().count());
      break;
    default:
      break;
  }
  return (hash32(what) & ~3U) | width_of(limit);
}

std::uint32_t name_id(const Limit& limit) {
  std::string what = limit.name;
  what += '\0';
  what += to_string(limit.algorithm);
  if (limit.algorithm == Algorithm::fixed_window) what += to_string(limit.align);
  return hash32(what);
}

Program compile(const std::vector<Limit>& limits, std::optional<Micros> max_delay) {
  Program program;
  program.max_delay_us = max_delay ? static_cast<double>(max_delay->count()) : 0;
  order_rules(limits, max_delay.has_value(), program);
  for (Group& group : program.groups) lay_out(group, program.rules);
  pack_parameters(program);
  return program;
}

}  // namespace sluice::limiter
