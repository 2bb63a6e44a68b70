#include "server/sync/history.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace sluice::server::sync {

History::History(sluice::sync::Position base, std::size_t most_steps, std::size_t most_touched)
    : most_steps_(most_steps), most_touched_(most_touched), base_(base), head_(std::move(base)) {}

void History::append(Step step) {
  head_ = step.at;
  ++steps_;
  touched_ += step.touched.size();
  // A step with many objects gets a chunk of its own, so that it can be dropped alone.
  const bool begins = chunks_.empty() || chunks_.back()->steps.size() >= kStepsInChunk ||
                      chunks_.back()->touched + step.touched.size() > kTouchedInChunk;
  auto chunk = begins ? std::make_shared<Chunk>() : std::make_shared<Chunk>(*chunks_.back());
  chunk->touched += step.touched.size();
  chunk->steps.push_back(std::make_shared<const Step>(std::move(step)));
  if (begins) {
    chunks_.push_back(std::move(chunk));
  } else {
    chunks_.back() = std::move(chunk);
  }
  while (steps_ > most_steps_ || touched_ > most_touched_) forget_oldest();
}

void History::forget_oldest() {
  const Chunk& oldest = *chunks_.front();
  base_ = oldest.steps.back()->at;
  steps_ -= oldest.steps.size();
  touched_ -= oldest.touched;
  chunks_.erase(chunks_.begin());
}

// REQUIRES: base().revision < revision ≤ head().revision.
const Step* History::step_at(std::int64_t revision) const {
  const auto chunk =
      std::ranges::lower_bound(chunks_, revision, {}, [](const auto& c) { return c->steps.back()->at.revision; });
  const std::int64_t first = (*chunk)->steps.front()->at.revision;
  return (*chunk)->steps[static_cast<std::size_t>(revision - first)].get();
}

History::Place History::find(const sluice::sync::Position& position) const {
  if (position.revision > head_.revision) return Place::above;
  if (position.revision == head_.revision) return position.chain == head_.chain ? Place::head : Place::foreign;
  if (position.revision < base_.revision) return Place::forgotten;
  const std::string& chain = position.revision == base_.revision ? base_.chain : step_at(position.revision)->at.chain;
  return chain == position.chain ? Place::within : Place::foreign;
}

bool History::denies(const sluice::sync::Position& position) const {
  const Place place = find(position);
  return place == Place::above || place == Place::foreign;
}

bool History::touches(const SyncScope& scope, std::int64_t revision) const {
  bool found = false;
  for_each_since(revision, [&](const Step& step) {
    found = std::ranges::any_of(
        step.touched, [&](const Touched& touched) { return scope.reaches(touched.organization_id, touched.tenant()); });
    return !found;
  });
  return found;
}

}  // namespace sluice::server::sync
