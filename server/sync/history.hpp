// The recent revisions with their positions and the objects that each one changed. Deltas are built from it.
//
// A history holds at most kMostSteps revisions and kMostTouched changed objects; it drops the oldest revisions first.
// Copies share their chunks, so copying is cheap however long the history is.
//
// Thread safety: values; any number of threads may read one at the same time.
// Invariant: the steps are those of the revisions after base(), without a gap.
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
  std::string organization_id;  // the owner at that revision; "" for the settings

  std::string_view tenant() const { return id.kind == Kind::tenant ? id.id : id.tenant_id; }
};

// One revision and what it changed.
struct Step {
  sluice::sync::Position at;  // of this revision; its chain is "" if unknown
  std::vector<Touched> touched;
};

class History {
 public:
  static constexpr std::size_t kMostSteps = 10'000;
  static constexpr std::size_t kMostTouched = 200'000;

  explicit History(sluice::sync::Position base, std::size_t most_steps = kMostSteps,
                   std::size_t most_touched = kMostTouched);

  // REQUIRES: the step's revision is head().revision + 1.
  void append(Step step);

  const sluice::sync::Position& base() const { return base_; }
  const sluice::sync::Position& head() const { return head_; }
  std::size_t steps() const { return steps_; }
  std::size_t touched() const { return touched_; }

  // The relation of a position to this history.
  enum class Place : std::uint8_t {
    head,       // the newest revision
    within,     // an older one; all changes after it are known
    forgotten,  // older than base(), so it may belong to another history too
    above,      // later than head()
    foreign,    // a revision of this history, but with another chain
  };
  Place find(const sluice::sync::Position& position) const;
  bool denies(const sluice::sync::Position& position) const;  // above or foreign

  // Calls visit(step) for the steps after a revision, oldest first, until it returns false. REQUIRES: base().revision ≤
  // revision.
  template <class Visit>
  void for_each_since(std::int64_t revision, Visit visit) const {
    for (const auto& chunk : chunks_) {
      if (chunk->steps.back()->at.revision <= revision) continue;
      for (const auto& step : chunk->steps) {
        if (step->at.revision > revision && !visit(*step)) return;
      }
    }
  }

  // Whether anything in the scope changed after a revision. REQUIRES: base().revision ≤ revision.
  bool touches(const SyncScope& scope, std::int64_t revision) const;

 private:
  static constexpr std::size_t kStepsInChunk = 256;
  static constexpr std::size_t kTouchedInChunk = 4096;

  struct Chunk {
    std::vector<std::shared_ptr<const Step>> steps;  // not empty
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
