// Compiles limits into programs. Policies with equal limits share one program, which lives as long as a rulebook uses
// it. Copies of a pool share memory. Thread safety: that of HashTrie.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/hash_trie.hpp"
#include "common/domain/plan.hpp"
#include "common/limiter/program.hpp"

namespace sluice::policy {

class ProgramPool {
 public:
  using Shared = std::shared_ptr<const limiter::Program>;

  // Of the enforcement, only the action `delay` and its `max_delay` affect the program.
  Shared of(const std::vector<Limit>& limits, const Enforcement& enforcement);

  // If the pool has about doubled since the last sweep, removes the entries of programs that no longer exist.
  void sweep();

 private:
  struct Entry {
    std::uint64_t its_hash = 0;
    // The `max_delay` of the action `delay`, -1 for other actions, or kFree.
    std::int64_t debt_us = kFree;
    std::weak_ptr<const limiter::Program> program;
    static constexpr std::int64_t kFree = -2;

    std::uint64_t hash() const { return its_hash; }
    bool is_free() const { return debt_us == kFree; }
  };

  HashTrie<Entry> programs_;
  std::size_t kept_ = 0;  // entries that the last sweep kept
};

}  // namespace sluice::policy
