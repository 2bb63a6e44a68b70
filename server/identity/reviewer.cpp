#include "server/identity/reviewer.hpp"

#include <algorithm>
#include <utility>

#include "server/identity/token_claims.hpp"

namespace sluice::server::identity {

using std::chrono::steady_clock;

Reviewer::Reviewer(kubernetes::Api& api, const Clock& clock, telemetry::Log& log, ReviewOptions options)
    : api_(api), clock_(clock), log_(log), options_(std::move(options)), cache_(options_.most_known) {}

Reviewer::~Reviewer() = default;

KnownReviewPtr Reviewer::known(std::string_view token) const { return cache_.find(sha256(token), steady_clock::now()); }

void Reviewer::ask(std::string_view token, Told told) {
  const Sha256Digest key = sha256(token);
  std::vector<Told>& waiting = asking_[key];
  waiting.push_back(std::move(told));
  if (waiting.size() > 1) return;
  const auto claims = read_claims(token);
  api_.ask("POST", kTokenReviews, write_token_review(token, options_.audience), options_.deadline,
           [this, watched = std::weak_ptr(alive_), key,
            expires_at = claims ? claims->expires_at : std::nullopt](const Result<kubernetes::ApiResponse>& answer) {
             if (!watched.expired()) answered(key, expires_at, answer);
           });
}

void Reviewer::answered(const Sha256Digest& key, std::optional<WallTime> expires_at,
                        const Result<kubernetes::ApiResponse>& answer) {
  auto review = judge_token_review(answer, options_.audience);
  // Kubernetes has verified the token, so its claim `exp` can be trusted.
  if (review.outcome == Review::Outcome::good) review.pod.expires_at = expires_at;
  note(review);
  const auto now = steady_clock::now();
  const auto until = now + holds_for(review);
  const auto known = std::make_shared<const KnownReview>(KnownReview{.review = std::move(review), .until = until});
  // If this review failed, an earlier review stays valid.
  if (known->review.outcome != Review::Outcome::away || !cache_.find(key, now)) cache_.put(key, known, now);
  const auto asking = asking_.extract(key);
  for (const Told& told : asking.mapped()) told(known);
}

steady_clock::duration Reviewer::holds_for(const Review& review) const {
  if (review.outcome == Review::Outcome::bad) return options_.bad_for;
  if (review.outcome == Review::Outcome::away) return options_.away_for;
  if (!review.pod.expires_at) return options_.good_for;
  const auto left = review.pod.expires_at->time_since_epoch() - std::chrono::microseconds(clock_.now_us());
  return std::clamp<steady_clock::duration>(left, steady_clock::duration::zero(), options_.good_for);
}

void Reviewer::note(const Review& review) {
  switch (review.outcome) {
    case Review::Outcome::good:
      ++statistics_.good;
      break;
    case Review::Outcome::bad:
      ++statistics_.bad;
      break;
    case Review::Outcome::away:
      ++statistics_.away;
      if (degraded_.empty()) {
        log_.warn("token_review_failed",
                  "Kubernetes cannot review agents' tokens; earlier reviews stay valid until they expire.",
                  {{"reason", review.why}});
      }
      degraded_ = review.why;
      return;
  }
  if (!degraded_.empty()) log_.info("token_review_back", "Agents' tokens are reviewed again.");
  degraded_.clear();
}

}  // namespace sluice::server::identity
