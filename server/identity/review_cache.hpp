// Caches the results of token reviews for a limited time. Tokens are stored as SHA-256 hashes.
//
// Thread safety: none.
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

struct CachedReview {
  Review review;
  std::chrono::steady_clock::time_point until;
};
using CachedReviewPtr = std::shared_ptr<const CachedReview>;

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

  // Returns nullptr if there is no review of the token, or the review has expired.
  CachedReviewPtr find(const Sha256Digest& token, Time now) const {
    const auto found = entries_.find(token);
    return found != entries_.end() && found->second->until > now ? found->second : nullptr;
  }

  // A full cache drops its expired entries, or an arbitrary entry if none has expired.
  void put(const Sha256Digest& token, CachedReviewPtr review, Time now) {
    if (entries_.size() >= max_entries_ && !entries_.contains(token)) make_room(now);
    entries_.insert_or_assign(token, std::move(review));
  }

  std::size_t size() const { return entries_.size(); }

 private:
  void make_room(Time now) {
    std::erase_if(entries_, [now](const auto& entry) { return entry.second->until <= now; });
    if (entries_.size() >= max_entries_) entries_.erase(entries_.begin());
  }

  const std::size_t max_entries_;
  std::unordered_map<Sha256Digest, CachedReviewPtr, DigestHash> entries_;
};

}  // namespace sluice::server::identity
