#include "common/limiter/script_calls.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <openssl/evp.h>
#include <boost/container/static_vector.hpp>

#include "common/base/crypto.hpp"
#include "common/limiter/function_library.hpp"
#include "common/limiter/memory_judge.hpp"
#include "common/limiter/shared_arguments.hpp"
#include "common/limiter/traits.hpp"
#include "lua/scripts.hpp"

namespace sluice::limiter {
namespace {

// In the order of the enumerators of Script.
constexpr std::array<std::string_view, kScripts> kTexts{lua::check, lua::check_many, lua::release,
                                                        lua::renew, lua::overrides,  lua::reset};

std::string sha1_hex(std::string_view text) {
  std::array<std::uint8_t, 20> digest;
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return to_hex(digest);
}

// "EVALSHA" and the hash, in Redis' protocol (RESP).
std::string_view words_by_hash(Script script) {
  static const std::array<std::string, kScripts> kWords = [] {
    std::array<std::string, kScripts> words;
    for (std::size_t i = 0; i < kScripts; ++i) {
      redis::CommandWriter(words[i]).bulk("EVALSHA").bulk(script_sha(static_cast<Script>(i)));
    }
    return words;
  }();
  return kWords[static_cast<std::size_t>(script)];
}

void begin_call(redis::CommandWriter& out, Script script, CallBy by, std::size_t keys, std::size_t arguments) {
  out.array(3 + keys + arguments);
  switch (by) {
    case CallBy::hash:
      out.raw(words_by_hash(script));
      break;
    case CallBy::text:
      out.bulk("EVAL").bulk(script_text(script));
      break;
    case CallBy::function:
      out.bulk("FCALL").bulk(function_name(script));
      break;
  }
  out.bulk(static_cast<std::int64_t>(keys));
}

void begin_bulk(redis::CommandWriter& out, std::size_t size) {
  char head[24] = {'$'};
  char* end = std::to_chars(head + 1, head + sizeof head - 2, size).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.raw({head, static_cast<std::size_t>(end - head)});
}

template <class... Parts>
void bulk_of(redis::CommandWriter& out, Parts... parts) {
  begin_bulk(out, (parts.size() + ...));
  (out.raw(parts), ...);
  out.raw("\r\n");
}

template <class Number>
void patch(char* at, Number number) {
  std::memcpy(at, &number, sizeof number);
}

void write_parameters(redis::CommandWriter& out, const Call& call, std::span<const PeriodBounds> periods,
                      bool explained) {
  const Program& program = *call.program;
  out.bulk(program.packed);
  char* packed = out.buffer().data() + out.buffer().size() - 2 - program.packed.size();
  packed[kExplainOffset] = explained;
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    char* cost = packed + program.cost_offsets[i];
    patch(cost, call.costs[i]);
    if (!program.rules[i].periodic) continue;
    patch(cost + kPeriodBehindCost, static_cast<double>(periods[i].from_us));
    patch(cost + kPeriodBehindCost + 8, static_cast<double>(periods[i].to_us));
  }
}

// With several groups (program.hpp), several enforced rulebooks (`together`), or a quota beside other limits,
// read_check() needs a report of each limit.
bool wants_reports(const Call& call, bool together) {
  const Program& program = *call.program;
  return call.explain || together || program.groups.size() > 1 || (program.has_quotas && program.rules.size() > 1);
}

std::size_t key_count(const Program& program) { return program.groups.size() + program.collections; }

void write_keys(redis::CommandWriter& out, const Call& call) {
  const Program& program = *call.program;
  for (std::size_t g = 0; g < program.groups.size(); ++g) out.bulk(call.keys[g]);
  if (program.collections == 0) return;
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    if (!program.rules[i].keeps_entries) continue;
    bulk_of(out, std::string_view(call.keys[program.rules[i].group]), traits_of(program.rules[i].kind).key_mark,
            std::string_view(program.limits[i].name));
  }
}

void write_further_arguments(redis::CommandWriter& out, const Call& call) {
  out.raw(call.program->script_tail);
  if (call.program->leases > 0) out.bulk({reinterpret_cast<const char*>(call.draw.data()), call.draw.size()});
}

StoreError broken_reply() { return {StoreFault::protocol, true}; }

// What check.lua replies: numbers of the decision, one for each limit that takes leases, and with `explain` those of
// each limit.
constexpr std::size_t kNumbersOfDecision = 8, kNumbersOfLimit = 6;
constexpr std::size_t kMostNumbers = kNumbersOfDecision + kMaxLimitsPerPlan * (1 + kNumbersOfLimit);
using Numbers = std::span<const std::int64_t>;

// Returns no numbers if the reply is none of the script's.
Numbers unpack_numbers(std::string_view packed, std::array<std::int64_t, kMostNumbers>& memory) {
  constexpr double kTooLarge = 0x1p63;
  const std::size_t count = packed.size() / sizeof(double);
  if (count > memory.size() || packed.size() % sizeof(double) != 0) return {};
  for (std::size_t i = 0; i < count; ++i) {
    double number;
    std::memcpy(&number, packed.data() + i * sizeof number, sizeof number);
    if (!(std::abs(number) < kTooLarge)) return {};
    memory[i] = static_cast<std::int64_t>(number);
  }
  return Numbers(memory).first(count);
}

// As above. check.lua replies integers, check_many.lua a text.
Numbers numbers_of(const redis::Reply& reply, std::array<std::int64_t, kMostNumbers>& memory) {
  if (reply.type == redis::Reply::Type::string) return unpack_numbers(reply.text, memory);
  if (reply.type != redis::Reply::Type::array || reply.elements.size() > memory.size()) return {};
  std::int64_t* to = memory.data();
  for (const redis::Reply& number : reply.elements) {
    if (number.type != redis::Reply::Type::integer) return {};
    *to++ = number.integer;
  }
  return Numbers(memory).first(reply.elements.size());
}

LimitReport read_report(Numbers numbers) {
  return {numbers[0] != 0, numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
}

}  // namespace

std::string_view script_text(Script script) { return kTexts[static_cast<std::size_t>(script)]; }

std::span<const std::string_view> script_texts() { return kTexts; }

std::string_view script_sha(Script script) {
  static const std::array<std::string, kScripts> kShas = [] {
    std::array<std::string, kScripts> shas;
    std::ranges::transform(kTexts, shas.begin(), sha1_hex);
    return shas;
  }();
  return kShas[static_cast<std::size_t>(script)];
}

void write_check(redis::CommandWriter& out, const Call& call, std::span<const PeriodBounds> periods, CallBy by) {
  begin_call(out, Script::check, by, key_count(*call.program), argument_count(*call.program));
  write_keys(out, call);
  write_parameters(out, call, periods, wants_reports(call, false));
  write_further_arguments(out, call);
}

void write_check_many(redis::CommandWriter& out, std::span<const CheckPart> parts, std::size_t enforced, CallBy by) {
  static_assert(2 * kMaxLimitsPerPlan + 1 < 256 && 3 + 3 * kMaxLimitsPerPlan < 256, "a count is one byte");
  std::array<OwnArguments, kMaxParts> own;
  char numbers[1 + 3 * kMaxParts];
  char* number = numbers;
  const auto add = [&number](std::size_t byte) { *number++ = static_cast<char>(byte); };
  add(enforced);
  std::size_t keys = 0, arguments = 1;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t its_keys = key_count(*parts[i].call->program);
    own[i] = own_arguments(parts, enforced, i);
    add(its_keys);
    add(own[i].count);
    add(own[i].shared_with);
    keys += its_keys;
    arguments += own[i].count;
  }
  begin_call(out, Script::check_many, by, keys, arguments);
  for (const CheckPart& part : parts) write_keys(out, *part.call);
  out.bulk(std::string_view(numbers, number));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [call, periods] = parts[i];
    if (own[i].count == 0) continue;
    write_parameters(out, *call, periods, wants_reports(*call, is_together(enforced, i)));
    if (own[i].shared_with == 0) write_further_arguments(out, *call);
  }
}

void write_leases(redis::CommandWriter& out, Script script, std::span<const LeaseRef> leases, CallBy by) {
  begin_call(out, script, by, leases.size(), leases.size());
  for (const LeaseRef& lease : leases) {
    bulk_of(out, std::string_view(lease.counter_key), traits_of(Kind::lease).key_mark,
            std::string_view(lease.limit_name));
  }
  for (const LeaseRef& lease : leases) out.bulk(lease.member);
}

void write_overrides(redis::CommandWriter& out, std::string_view counter_key, std::span<const OverrideEntry> entries,
                     CallBy by) {
  static_assert(sizeof(OverrideEntry) == 40, "as lua/check/frame.lua reads it: <I4I4dddd");
  begin_call(out, Script::overrides, by, 1, 1);
  out.bulk(counter_key);
  out.bulk({reinterpret_cast<const char*>(entries.data()), entries.size_bytes()});
}

void write_reset(redis::CommandWriter& out, std::string_view counter_key, std::span<const std::string> collections,
                 CallBy by) {
  begin_call(out, Script::reset, by, 1 + collections.size(), 0);
  out.bulk(counter_key);
  for (const std::string& key : collections) out.bulk(key);
}

std::vector<std::string> collection_keys(const Program& program, std::size_t group, std::string_view counter_key) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    if (program.rules[i].group != group || !program.rules[i].keeps_entries) continue;
    keys.push_back(
        std::string(counter_key).append(traits_of(program.rules[i].kind).key_mark).append(program.limits[i].name));
  }
  return keys;
}

StoreResult<CheckReply> read_check(const redis::Reply& reply, const Call& call, bool together) {
  const Program& program = *call.program;
  std::array<std::int64_t, kMostNumbers> memory;
  const Numbers numbers = numbers_of(reply, memory);
  if (numbers.size() == 2 && numbers[0] == -1) return CheckReply{{}, {numbers[1]}};

  const bool explained = wants_reports(call, together);
  std::size_t reports_at = kNumbersOfDecision + program.leases;
  std::size_t expected = explained ? reports_at + kNumbersOfLimit * program.rules.size() : kNumbersOfDecision;
  if (numbers.size() < expected) return std::unexpected(broken_reply());
  auto binding = static_cast<std::size_t>(numbers[2]);
  if (binding >= program.rules.size()) return std::unexpected(broken_reply());

  StoreResult<CheckReply> out(std::in_place);  // one object, because an Outcome is large
  Outcome& outcome = out->outcome.emplace();
  outcome.allowed = numbers[0] == 1;
  outcome.now_us = numbers[1];
  outcome.binding = static_cast<std::uint8_t>(binding);
  std::int64_t retry = numbers[6], delay = numbers[7];
  outcome.report = {outcome.allowed, numbers[3], numbers[4], numbers[5], retry, delay};
  if (outcome.allowed && numbers.size() >= reports_at) {
    std::size_t lease = kNumbersOfDecision;
    for (std::size_t i = 0; i < program.rules.size(); ++i) {
      if (!program.rules[i].takes_leases) continue;
      if (const std::int64_t ttl_us = numbers[lease++]; ttl_us > 0) outcome.took_lease(i, ttl_us);
    }
  }
  const bool charged = outcome.allowed;
  if (!explained) {
    if (charged && program.has_quotas) find_quota_marks(call, {&outcome.report, 1}, outcome);
    return out;
  }
  // The rules of several groups are not in plan order, so the script does not know the binding limit. With several
  // enforced rulebooks, the script's `allowed` is for all of them together.
  boost::container::static_vector<LimitReport, kMaxLimitsPerPlan> found;
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    found.push_back(read_report(numbers.subspan(reports_at + kNumbersOfLimit * i, kNumbersOfLimit)));
  }
  outcome.binding = static_cast<std::uint8_t>(binding_limit(call, found));
  outcome.allowed = std::ranges::all_of(found, &LimitReport::admitted);
  outcome.report = found[outcome.binding];
  if (charged && program.has_quotas) find_quota_marks(call, found, outcome);
  if (call.explain) outcome.limits.assign(found.begin(), found.end());
  outcome.report.retry_after_us = retry;
  outcome.report.delay_us = delay;
  return out;
}

StoreResult<LeaseOutcome> read_leases(const redis::Reply& reply, Script script) {
  if (script == Script::release) {
    if (reply.type != redis::Reply::Type::integer) return std::unexpected(broken_reply());
    return LeaseOutcome{reply.integer > 0, 0};
  }
  if (reply.elements.size() != 2) return std::unexpected(broken_reply());
  return LeaseOutcome{reply.elements[0].integer > 0, reply.elements[1].integer};
}

StoreError classify_error(const redis::Reply& reply) {
  if (reply.text.starts_with("ERR Function not found")) return {StoreFault::no_function, false};
  struct Row {
    std::string_view token;
    StoreError error;
  };
  static constexpr Row kRows[] = {
      {"NOSCRIPT", {StoreFault::no_script, false}},
      {"READONLY", {StoreFault::read_only, false}},
      {"MASTERDOWN", {StoreFault::read_only, false}},
      {"CLUSTERDOWN", {StoreFault::cluster_down, false}},
      {"MOVED", {StoreFault::cluster_down, false}},
      {"ASK", {StoreFault::cluster_down, false}},
      {"TRYAGAIN", {StoreFault::cluster_down, false}},
      {"LOADING", {StoreFault::loading, false}},
      {"BUSY", {StoreFault::busy, false}},
      {"OOM", {StoreFault::out_of_memory, false}},
      {"NOREPLICAS", {StoreFault::no_replicas, false}},
      {"MISCONF", {StoreFault::misconfigured, false}},
      {"NOAUTH", {StoreFault::authentication, false}},
      {"WRONGPASS", {StoreFault::authentication, false}},
      {"NOPERM", {StoreFault::authentication, false}},
      {"WRONGTYPE", {StoreFault::wrong_type, true}},
  };
  for (const Row& row : kRows) {
    if (reply.error_code() == row.token) return row.error;
  }
  return {StoreFault::script, true};
}

}  // namespace sluice::limiter
