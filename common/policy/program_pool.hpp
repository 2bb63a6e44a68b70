// Compiled limits. Equal ones are compiled once, whichever policies have them: thousands of policies share a few plans.
//
// A value: a copy shares everything; knows programs only as long as somebody else holds them.
// Thread safety: as HashTrie.
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

  // `limits` as they are judged under `enforcement`: what matters of it is whether, and for how long, calls are
  // delayed.
  Shared of(const std::vector<Limit>& limits, const Enforcement& enforcement);

  // Forgets programs that nobody holds any more, once there may be many.
  void sweep();

 private:
  struct Entry {
    std::uint64_t its_hash = 0;
    std::int64_t debt_us = kFree;
    std::weak_ptr<const limiter::Program> program;
    static constexpr std::int64_t kFree = -2;

    std::uint64_t hash() const { return its_hash; }
    bool is_free() const { return debt_us == kFree; }
  };

  HashTrie<Entry> programs_;
  std::size_t kept_ = 0;  // by the last sweep
};

}  // namespace sluice::policy
