// Asks Kubernetes who the holder of a token is, and remembers the answer for a while: yes for `good_for` and never
// beyond the token's end, no for `bad_for`. Equal questions share one request.
//
// How long a yes is repeated is how long a token is still taken after Kubernetes has revoked it (its API server repeats
// its own for 10 s more). Where Kubernetes cannot be asked, a yes goes on to its end; then nobody is let in by a token
// that cannot be proved.
//
// Thread: the loop.
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
#include "common/telemetry/log.hpp"
#include "server/identity/review_cache.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::identity {

struct ReviewOptions {
  std::string audience = "sluice";
  std::chrono::milliseconds good_for{45'000};
  std::chrono::milliseconds bad_for{5'000};
  std::chrono::milliseconds away_for{1'000};  // a question that has failed is not asked again at once
  std::chrono::milliseconds deadline{3'000};
  std::size_t most_known = 50'000;  // tokens
};

class Reviewer {
 public:
  using Told = std::function<void(KnownReviewPtr)>;

  struct Statistics {  // of requests to Kubernetes, by what they said
    std::atomic<std::uint64_t> good{0};
    std::atomic<std::uint64_t> bad{0};
    std::atomic<std::uint64_t> away{0};
  };

  // REQUIRES: what is given outlives it; nobody is told after its end.
  Reviewer(kubernetes::Api& api, const Clock& clock, telemetry::Log& log, ReviewOptions options);
  ~Reviewer();
  Reviewer(const Reviewer&) = delete;
  Reviewer& operator=(const Reviewer&) = delete;

  // What is remembered; nullptr: it is to be asked.
  KnownReviewPtr known(std::string_view token) const;

  // Asks, whatever is remembered. Told once, from the loop, never from inside ask().
  void ask(std::string_view token, Told told);

  const ReviewOptions& options() const { return options_; }
  const Statistics& statistics() const { return statistics_; }
  // What is not as it should be: why Kubernetes could not be asked last time; "".
  const std::string& degraded() const { return degraded_; }

 private:
  void answered(const Sha256Digest& key, std::optional<WallTime> expires_at,
                const Result<kubernetes::ApiResponse>& answer);
  std::chrono::steady_clock::duration holds_for(const Review& review) const;
  void note(const Review& review);

  kubernetes::Api& api_;
  const Clock& clock_;
  telemetry::Log& log_;
  const ReviewOptions options_;
  ReviewCache cache_;
  std::unordered_map<Sha256Digest, std::vector<Told>, DigestHash> asking_;
  Statistics statistics_;
  std::string degraded_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace sluice::server::identity
