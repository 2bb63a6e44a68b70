// Sends agents' tokens to Kubernetes for review (TokenReview), and caches the answers. Concurrent reviews of one token
// share a request. A revoked token keeps working for at most `accepted_for` plus 10 s, because Kubernetes caches its
// own answers for 10 s.
//
// Thread: the event loop's; statistics and degraded() may be read from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/clock.hpp"
#include "common/base/guarded_text.hpp"
#include "common/telemetry/log.hpp"
#include "server/identity/review_cache.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::identity {

struct ReviewOptions {
  std::string audience = "sluice";
  // How long a review is cached, by its outcome; never beyond the token's expiry.
  std::chrono::milliseconds accepted_for{45'000};
  std::chrono::milliseconds refused_for{5'000};
  std::chrono::milliseconds failed_for{1'000};
  std::chrono::milliseconds deadline{3'000};  // of a request to Kubernetes
  std::size_t max_cached = 50'000;            // tokens
};

class Reviewer {
 public:
  using Callback = std::function<void(CachedReviewPtr)>;

  struct Statistics {  // requests to Kubernetes, by result
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> failed{0};
  };

  // REQUIRES: `api`, `clock` and `log` outlive the reviewer. No callback comes after the destructor.
  Reviewer(kubernetes::Api& api, const Clock& clock, telemetry::Log& log, ReviewOptions options);
  ~Reviewer();
  Reviewer(const Reviewer&) = delete;
  Reviewer& operator=(const Reviewer&) = delete;

  // Returns nullptr if there is no cached review.
  CachedReviewPtr cached(std::string_view token) const;

  // Requests a review even if one is cached. Calls the callback once, from the loop, never from inside request().
  void request(std::string_view token, Callback callback);

  const ReviewOptions& options() const { return options_; }
  const Statistics& statistics() const { return statistics_; }
  // Why the last review failed; "" if Kubernetes accepted or refused the token.
  std::string degraded() const { return degraded_.get(); }

 private:
  void on_answer(const Sha256Digest& key, std::optional<WallTime> expires_at,
                 const Result<kubernetes::ApiResponse>& answer);
  std::chrono::steady_clock::duration time_to_cache(const Review& review) const;
  void record_outcome(const Review& review);

  kubernetes::Api& api_;
  const Clock& clock_;
  telemetry::Log& log_;
  const ReviewOptions options_;
  ReviewCache cache_;
  std::unordered_map<Sha256Digest, std::vector<Callback>, DigestHash> pending_;  // by the token's hash
  Statistics statistics_;
  GuardedText degraded_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();  // once destroyed, answers are ignored
};

}  // namespace sluice::server::identity
