// How the follower fetches: when, what, and what it makes of the answer.
#include <utility>
#include <variant>

#include "agent/follow/follower.hpp"

namespace sluice::agent::follow {
namespace {

// Where a state that cannot be read leaves open where it leads to.
const std::string kNoChain(sync::kChainDigits, '0');

template <class... Handlers>
struct Match : Handlers... {
  using Handlers::operator()...;
};

}  // namespace

void SyncClient::Impl::plan() {
  const auto due = coalescer_.due();
  if (stopping_ || !due) return;
  if (*due <= Clock::now()) return begin();
  fetch_alarm_.set(*due, [this] { begin(); });
}

void SyncClient::Impl::plan_refresh() {
  const auto wait = std::chrono::duration_cast<Clock::duration>(options_.refresh * (0.75 + 0.5 * link_.random()));
  refresh_alarm_.set(Clock::now() + wait, [this] {
    plan_refresh();
    // What was refused has its own time.
    if (refusal_ || !coalescer_.idle()) return;
    coalescer_.requested(Clock::now());
    plan();
  });
}

void SyncClient::Impl::begin() {
  if (stopping_ || coalescer_.going_on()) return;
  if (!coalescer_.begin(Clock::now())) return plan();
  fetch_alarm_.clear();
  refusal_alarm_.clear();
  heard_at_begin_ = heard_;
  fetch(ask_whole_ || !state_);
}

void SyncClient::Impl::fetch(bool whole) {
  ++counters_.fetches;
  auto request = link_.request("/v1/sync/snapshot");
  // What another token leads to is not what has changed since.
  asked_since_ = whole || !is_of_this_token() ? std::nullopt : position();
  if (observer_.fetch_begun) observer_.fetch_begun(asked_since_);
  if (!request) return try_again(FetchResult::failed, request.error());
  char separator = '?';
  if (asked_since_) request->target += std::exchange(separator, '&') + query_of(*asked_since_);
  if (heard_at_begin_) request->target += separator + query_of(*heard_at_begin_, sync::kHeard);
  asked_as_ = link_.token_id();
  request->max_body = options_.max_snapshot;
  snapshots_.send(*std::move(request), [this](const Result<http_client::Response>& answer) {
    static const sync::ScopeState kNone;
    heard_is_foreign_ = answer && answer->header(sync::kHeardField) == sync::kForeign;
    on_reply(judge_reply(state_ ? *state_ : kNone, asked_since_.has_value(), answer));
  });
}

void SyncClient::Impl::on_reply(FetchReply reply) {
  std::visit(Match{[this](NewState& taken) { take(std::move(taken)); },
                   [this](const NotModified&) { took(FetchResult::not_modified); },
                   [this](const AskForWhole& because) {
                     ended(FetchResult::resync, because.why);
                     ask_whole_ = true;  // also of the next, should this one fail
                     fetch(true);
                   },
                   [this](const Unusable& answer) {
                     const bool unauthorized = answer.why.code == "unauthorized";
                     try_again(unauthorized ? FetchResult::unauthorized : FetchResult::failed, answer.why);
                   },
                   [this](const NotTaken& answer) { refuse(answer.head, answer.why); }},
             reply);
}

// Where only the head has moved there is nothing to put in force.
void SyncClient::Impl::take(NewState taken) {
  taken.applied.state.token_id = asked_as_;
  if (state_ && taken.applied.changes.empty()) {
    const bool whole = taken.whole;
    state_ = std::move(taken.applied.state);
    took(FetchResult::moved);
    if (whole) stream_.reopen();
    return;
  }
  offered_ = std::make_shared<NewState>(std::move(taken));
  const auto shown = offered_;  // the host may answer within the call
  host_.on_state(shown->applied, shown->whole);
}

void SyncClient::Impl::accepted() {
  if (!offered_ || stopping_) return;
  const bool whole = offered_->whole;
  const bool again = whole && state_.has_value();
  state_ = offered_->applied.state;
  offered_.reset();
  took(whole ? FetchResult::whole : FetchResult::delta);
  // The stream is of a position that this state does not go on from.
  if (again) stream_.reopen();
}

void SyncClient::Impl::refused(const Error& why) {
  if (!offered_ || stopping_) return;
  const sync::Position head = offered_->applied.state.head;
  offered_.reset();
  refuse(head, why);
}

// What was heard before the fetch began is in what it brought, for the server was told of it. Where it is of another
// history, so is what the stream will say.
void SyncClient::Impl::took(FetchResult result) {
  const bool changed = result != FetchResult::not_modified;
  ask_whole_ = false;
  refusal_.reset();
  refusal_backoff_.reset();
  fetch_error_.reset();
  fetch_backoff_.reset();
  ended(result);
  const bool foreign = heard_ && heard_ == heard_at_begin_ && heard_is_foreign_;
  if (heard_ == heard_at_begin_ || heard_ == state_->head) heard_.reset();
  const bool newest = !heard_ && is_of_this_token();
  coalescer_.succeeded(newest);
  if (!newest && coalescer_.idle()) coalescer_.requested(Clock::now());
  host_.on_confirmed(state_->head);
  open_stream();
  if (foreign) stream_.fail({"foreign", "the watch stream is of another history than the server's database"});
  plan();
  if (changed) reporter_.soon();
}

void SyncClient::Impl::try_again(FetchResult result, const Error& why) {
  snapshots_.close_idle();  // another replica may know better
  fetch_error_ = why;
  ended(result, why.text);
  coalescer_.failed(Clock::now(), fetch_backoff_.next(link_.random()));
  open_stream();
  plan();
}

// The one before stays. The same state is asked for again after a back-off; another as soon as there is one.
void SyncClient::Impl::refuse(const std::optional<sync::Position>& head, const Error& why) {
  const auto& told = heard_ ? heard_ : heard_at_begin_;
  sync::Position refused = head ? *head : told.value_or(sync::Position{.revision = 0, .chain = kNoChain});
  // What could not even be read or added up may have been read from a wrong start.
  ask_whole_ = why.code != "invalid_snapshot";
  refusal_ = {.refused = std::move(refused), .code = why.code, .text = why.text.substr(0, sync::kMaxReportText)};
  fetch_error_.reset();
  ended(FetchResult::refused, why.text);
  coalescer_.succeeded(heard_ == refusal_->refused);
  if (observer_.refused) observer_.refused(*refusal_);
  const auto wait = refusal_backoff_.ceiling() / 2 + refusal_backoff_.next(link_.random()) / 2;
  refusal_alarm_.set(Clock::now() + std::chrono::duration_cast<Clock::duration>(wait), [this] {
    coalescer_.requested(Clock::now());
    plan();
  });
  open_stream();
  plan();
  reporter_.soon();
}

void SyncClient::Impl::ended(FetchResult result, std::string_view text) {
  ++counters_.results[static_cast<std::size_t>(result)];
  if (observer_.fetch_ended) observer_.fetch_ended(result, position(), text);
}

}  // namespace sluice::agent::follow
