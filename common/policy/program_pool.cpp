#include "common/policy/program_pool.hpp"

#include <functional>
#include <optional>

#include "common/json/writer.hpp"
#include "common/objects/limit_json.hpp"

namespace sluice::policy {
namespace {

constexpr std::int64_t kNoDebt = -1;

std::uint64_t hash_of(const std::vector<Limit>& limits) {
  json::Writer text;
  text.begin_list();
  for (const Limit& limit : limits) write_limit(text, limit);
  text.end_list();
  return std::hash<std::string>()(text.take());
}

bool is_compiled_from(const limiter::Program& program, const std::vector<Limit>& limits) {
  if (program.limits.size() != limits.size()) return false;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (program.limits[i] != limits[program.plan_position[i]]) return false;
  }
  return true;
}

}  // namespace

ProgramPool::Shared ProgramPool::of(const std::vector<Limit>& limits, const Enforcement& enforcement) {
  std::optional<Micros> debt;
  if (enforcement.action == Action::delay) debt = enforcement.max_delay;
  const std::int64_t debt_us = debt ? debt->count() : kNoDebt;
  const std::uint64_t hash = hash_of(limits);
  Shared program;
  // Stores the entry's program in `program` to keep it alive: the pool has only weak references.
  auto take_if_same = [&](const Entry& entry) {
    if (entry.debt_us != debt_us) return false;
    program = entry.program.lock();
    return program && is_compiled_from(*program, limits);
  };
  if (programs_.find(hash, take_if_same)) return program;
  // Not make_shared, because the pool's weak reference would then keep the memory of the program.
  program = Shared(new limiter::Program(limiter::compile(limits, debt)));
  programs_.put({hash, debt_us, program}, [](const Entry&) { return false; });
  return program;
}

void ProgramPool::sweep() {
  constexpr std::size_t kFew = 64;
  if (programs_.size() <= 2 * kept_ + kFew) return;
  HashTrie<Entry> kept;
  programs_.for_each([&](const Entry& entry) {
    if (!entry.program.expired()) kept.put(entry, [](const Entry&) { return false; });
  });
  programs_ = std::move(kept);
  kept_ = programs_.size();
}

}  // namespace sluice::policy
