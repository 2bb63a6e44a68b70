#include "server/identity/reviewer.hpp"

#include <algorithm>
#include <utility>

#include "server/identity/token_claims.hpp"

namespace sluice::server::identity {

using std::chrono::steady_clock;

Reviewer::Reviewer(kubernetes::Api& api, const Clock& clock, telemetry::Log& log, ReviewOptions options)
    : api_(api), clock_(clock), log_(log), options_(std::move(options)), cache_(options_.max_cached) {}

Reviewer::~Reviewer() = default;

CachedReviewPtr Reviewer::cached(std::string_view token) const {
  return cache_.find(sha256(token), steady_clock::now());
}

void Reviewer::request(std::string_view token, Callback callback) {
  const Sha256Digest key = sha256(token);
  std::vector<Callback>& callbacks = pending_[key];
  callbacks.push_back(std::move(callback));
  if (callbacks.size() > 1) return;
  const auto claims = read_claims(token);
  api_.send("POST", kTokenReviews, write_token_review(token, options_.audience), options_.deadline,
            [this, alive = std::weak_ptr(alive_), key,
             expires_at = claims ? claims->expires_at : std::nullopt](const Result<kubernetes::ApiResponse>& answer) {
              if (!alive.expired()) on_answer(key, expires_at, answer);
            });
}

void Reviewer::on_answer(const Sha256Digest& key, std::optional<WallTime> expires_at,
                         const Result<kubernetes::ApiResponse>& answer) {
  auto review = read_token_review(answer, options_.audience);
  // Kubernetes has verified the token, so the claim `exp` is true.
  if (review.outcome == Review::Outcome::accepted) review.pod.expires_at = expires_at;
  record_outcome(review);
  const auto now = steady_clock::now();
  const auto until = now + time_to_cache(review);
  const auto result = std::make_shared<const CachedReview>(CachedReview{.review = std::move(review), .until = until});
  // A failed review does not replace an earlier review that is still valid.
  if (result->review.outcome != Review::Outcome::failed || !cache_.find(key, now)) cache_.put(key, result, now);
  const auto callbacks = pending_.extract(key);
  for (const Callback& callback : callbacks.mapped()) callback(result);
}

steady_clock::duration Reviewer::time_to_cache(const Review& review) const {
  if (review.outcome == Review::Outcome::refused) return options_.refused_for;
  if (review.outcome == Review::Outcome::failed) return options_.failed_for;
  if (!review.pod.expires_at) return options_.accepted_for;
  const auto left = review.pod.expires_at->time_since_epoch() - std::chrono::microseconds(clock_.now_us());
  return std::clamp<steady_clock::duration>(left, steady_clock::duration::zero(), options_.accepted_for);
}

void Reviewer::record_outcome(const Review& review) {
  switch (review.outcome) {
    case Review::Outcome::accepted:
      ++statistics_.accepted;
      break;
    case Review::Outcome::refused:
      ++statistics_.refused;
      break;
    case Review::Outcome::failed:
      ++statistics_.failed;
      if (degraded_.empty()) {
        log_.warn("token_review_failed",
                  "Kubernetes cannot review agents' tokens; earlier reviews stay valid until they expire.",
                  {{"reason", review.why}});
      }
      degraded_ = review.why;
      return;
  }
  if (!degraded_.empty()) log_.info("token_review_back", "Kubernetes can review agents' tokens again.");
  degraded_.clear();
}

}  // namespace sluice::server::identity
