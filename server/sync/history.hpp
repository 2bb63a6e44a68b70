// The recent revisions: where each of them was, and which objects it touched. What deltas are made of.
//
// Bounded: by kMostSteps revisions and kMostTouched objects, the oldest go first. Copies share what they have in
// common, so that a new state does not cost the length of its history.
//
// Thread safety: values; one is read from any number of threads at once.
// Invariant: steps are those of the revisions after base(), one by one, without a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/sync/object.hpp"
#include "common/sync/position.hpp"
#include "server/sync/scope.hpp"

namespace sluice::server::sync {

// An object that a revision wrote or removed.
struct Touched {
  ObjectId id;
  std::string organization_id;  // whose it was then; "" of the settings

  std::string_view tenant() const { return id.kind == Kind::tenant ? id.id : id.tenant_id; }
};

struct Step {
  sluice::sync::Position at;  // after the revision; its chain "" where nobody knows it
  std::vector<Touched> touched;
};

class History {
 public:
  static constexpr std::size_t kMostSteps = 10'000;
  static constexpr std::size_t kMostTouched = 200'000;

  explicit History(sluice::sync::Position base, std::size_t most_steps = kMostSteps,
                   std::size_t most_touched = kMostTouched);

  // REQUIRES: its revision is the one after head()'s.
  void append(Step step);

  const sluice::sync::Position& base() const { return base_; }
  const sluice::sync::Position& head() const { return head_; }
  std::size_t steps() const { return steps_; }
  std::size_t touched() const { return touched_; }

  // Where a position is, as seen from here.
  enum class Place : std::uint8_t {
    head,
    within,     // everything since then is known
    forgotten,  // older than what is kept: whether it is of this history is not known either
    above,      // later than the head
    foreign,    // the same number with another past
  };
  Place find(const sluice::sync::Position& position) const;
  bool denies(const sluice::sync::Position& position) const;  // it is none of here: above, or foreign

  // The steps after a revision, oldest first; visit(step) says whether to go on. REQUIRES: base's ≤ revision.
  template <class Visit>
  void for_each_since(std::int64_t revision, Visit visit) const {
    for (const auto& chunk : chunks_) {
      if (chunk->steps.back()->at.revision <= revision) continue;
      for (const auto& step : chunk->steps) {
        if (step->at.revision > revision && !visit(*step)) return;
      }
    }
  }

  // Was anything within the scope touched after a revision? REQUIRES: as of for_each_since.
  bool touches(const SyncScope& scope, std::int64_t revision) const;

 private:
  static constexpr std::size_t kStepsInChunk = 256;
  static constexpr std::size_t kTouchedInChunk = 4096;

  struct Chunk {
    std::vector<std::shared_ptr<const Step>> steps;  // never none
    std::size_t touched = 0;
  };

  const Step* step_at(std::int64_t revision) const;
  void forget_oldest();

  std::size_t most_steps_;
  std::size_t most_touched_;
  sluice::sync::Position base_;
  sluice::sync::Position head_;
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::size_t steps_ = 0;
  std::size_t touched_ = 0;
};

}  // namespace sluice::server::sync
