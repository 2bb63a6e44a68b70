// What was said of tokens, for as long as it may be repeated. Tokens are kept as hashes.
//
// No clock. Thread safety: none; one at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "common/base/crypto.hpp"
#include "server/identity/token_review.hpp"

namespace sluice::server::identity {

// A review with its end.
struct KnownReview {
  Review review;
  std::chrono::steady_clock::time_point until;
};
using KnownReviewPtr = std::shared_ptr<const KnownReview>;

struct DigestHash {
  std::size_t operator()(const Sha256Digest& digest) const {
    std::size_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof hash);
    return hash;
  }
};

class ReviewCache {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit ReviewCache(std::size_t most) : most_(most) {}

  // nullptr: nothing that holds any more.
  KnownReviewPtr find(const Sha256Digest& token, Time now) const {
    const auto found = known_.find(token);
    return found != known_.end() && found->second->until > now ? found->second : nullptr;
  }

  // Where there is no room, what is over goes, else one that is not: it will be asked about again.
  void put(const Sha256Digest& token, KnownReviewPtr review, Time now) {
    if (known_.size() >= most_ && !known_.contains(token)) make_room(now);
    known_.insert_or_assign(token, std::move(review));
  }

  std::size_t size() const { return known_.size(); }

 private:
  void make_room(Time now) {
    std::erase_if(known_, [now](const auto& entry) { return entry.second->until <= now; });
    if (known_.size() >= most_) known_.erase(known_.begin());
  }

  const std::size_t most_;
  std::unordered_map<Sha256Digest, KnownReviewPtr, DigestHash> known_;
};

}  // namespace sluice::server::identity
