// Caches reviews of tokens for a limited time. Tokens are stored as SHA-256 hashes.
//
// Time is a parameter. Thread safety: none; one thread at a time.
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

// A review and when it stops being valid.
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

  explicit ReviewCache(std::size_t max_entries) : max_entries_(max_entries) {}

  // Returns nullptr if there is no review, or if it has expired.
  KnownReviewPtr find(const Sha256Digest& token, Time now) const {
    const auto found = known_.find(token);
    return found != known_.end() && found->second->until > now ? found->second : nullptr;
  }

  // If the cache is full, expired entries are removed first, else any entry; its token is then reviewed again.
  void put(const Sha256Digest& token, KnownReviewPtr review, Time now) {
    if (known_.size() >= max_entries_ && !known_.contains(token)) make_room(now);
    known_.insert_or_assign(token, std::move(review));
  }

  std::size_t size() const { return known_.size(); }

 private:
  void make_room(Time now) {
    std::erase_if(known_, [now](const auto& entry) { return entry.second->until <= now; });
    if (known_.size() >= max_entries_) known_.erase(known_.begin());
  }

  const std::size_t max_entries_;
  std::unordered_map<Sha256Digest, KnownReviewPtr, DigestHash> known_;
};

}  // namespace sluice::server::identity
