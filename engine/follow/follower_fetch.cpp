// The fetches of SyncClient::Impl. follower.cpp has the rest of the class.
#include <utility>
#include <variant>

#include "engine/follow/follower.hpp"

namespace sluice::follow {
namespace {

// Stands for the chain of a snapshot that could not be read.
const std::string kNoChain(sync::kChainDigits, '0');

template <class... Handlers>
struct Match : Handlers... {
  using Handlers::operator()...;
};

}  // namespace

void SyncClient::Impl::schedule_fetch() {
  const auto due = coalescer_.due();
  if (stopping_ || !due) return;
  if (*due <= Clock::now()) return begin_fetch();
  fetch_timer_.set(*due, [this] { begin_fetch(); });
}

void SyncClient::Impl::schedule_refresh() {
  const auto wait = std::chrono::duration_cast<Clock::duration>(options_.refresh * (0.75 + 0.5 * link_.random()));
  refresh_timer_.set(Clock::now() + wait, [this] {
    schedule_refresh();
    if (refusal_ || !coalescer_.idle()) return;
    coalescer_.requested(Clock::now());
    schedule_fetch();
  });
}

void SyncClient::Impl::begin_fetch() {
  if (stopping_ || coalescer_.running()) return;
  if (!coalescer_.begin(Clock::now())) return schedule_fetch();
  fetch_timer_.clear();
  refusal_timer_.clear();
  announced_at_begin_ = announced_;
  fetch(need_full_ || !state_);
}

void SyncClient::Impl::fetch(bool full) {
  ++counters_.fetches;
  auto request = link_.request("/v1/sync/snapshot");
  // With another token the scope may differ, so a delta would not fit.
  fetch_since_ = full || !is_of_this_token() ? std::nullopt : position();
  if (observer_.fetch_begun) observer_.fetch_begun(fetch_since_);
  if (!request) return retry(FetchResult::error, request.error());
  char separator = '?';
  if (fetch_since_) request->target += std::exchange(separator, '&') + query_of(*fetch_since_);
  if (announced_at_begin_) request->target += separator + query_of(*announced_at_begin_, sync::kAnnounced);
  fetch_token_id_ = link_.token_id();
  request->fields.emplace_back(sync::kReadsField, sync::kReadsNewerFields);
  request->max_body = options_.max_snapshot;
  trace_.begin_fetch(*request);
  snapshots_.send(*std::move(request), [this](const Result<http_client::Response>& answer) {
    static const sync::ScopeState kNone;
    trace_.end_fetch(answer);
    announced_is_foreign_ = answer && answer->header(sync::kAnnouncedField) == sync::kForeignPosition;
    on_reply(read_reply(state_ ? *state_ : kNone, fetch_since_.has_value(), answer));
  });
}

void SyncClient::Impl::on_reply(FetchReply reply) {
  std::visit(Match{[this](NewState& state) { offer(std::move(state)); },
                   [this](const NotModified&) { on_accepted(FetchResult::unchanged); },
                   [this](const NeedFullSnapshot& because) {
                     count_result(FetchResult::resync, because.why);
                     need_full_ = true;  // stays set if the full fetch fails
                     fetch(true);
                   },
                   [this](const FailedFetch& answer) {
                     const bool unauthorized = answer.why.code == "unauthorized";
                     retry(unauthorized ? FetchResult::unauthorized : FetchResult::error, answer.why);
                   },
                   [this](const RefusedState& answer) { refuse(answer.head, answer.why); }},
             reply);
}

void SyncClient::Impl::offer(NewState taken) {
  taken.applied.state.token_id = fetch_token_id_;
  if (state_ && taken.applied.changes.empty()) {
    const bool full = taken.full;
    state_ = std::move(taken.applied.state);
    on_accepted(FetchResult::revision_only);
    if (full) stream_.reopen();
    return;
  }
  offered_ = std::make_shared<NewState>(std::move(taken));
  trace_.begin_use(offered_->applied.state.head.revision, offered_->full);
  const auto kept = offered_;  // the host may answer, and so reset offered_, within the call
  host_.on_state(kept->applied, kept->full);
}

void SyncClient::Impl::accepted() {
  if (!offered_ || stopping_) return;
  trace_.end_use();
  const bool full = offered_->full;
  const bool replaces = full && state_.has_value();
  state_ = offered_->applied.state;
  offered_.reset();
  on_accepted(full ? FetchResult::full : FetchResult::delta);
  // The open stream continues from the former position.
  if (replaces) stream_.reopen();
}

void SyncClient::Impl::refused(const Error& why) {
  if (!offered_ || stopping_) return;
  trace_.end_use(why.code);
  const sync::Position head = offered_->applied.state.head;
  offered_.reset();
  refuse(head, why);
}

// The fetch named announced_at_begin_, so its answer covers that position. If the position is foreign, so is the whole
// stream, and the client opens another stream.
void SyncClient::Impl::on_accepted(FetchResult result) {
  const bool changed = result != FetchResult::unchanged;
  trace_.covered();
  need_full_ = false;
  refusal_.reset();
  refusal_backoff_.reset();
  fetch_error_.reset();
  fetch_backoff_.reset();
  count_result(result);
  const bool foreign = announced_ && announced_ == announced_at_begin_ && announced_is_foreign_;
  if (announced_ == announced_at_begin_ || announced_ == state_->head) announced_.reset();
  const bool newest = !announced_ && is_of_this_token();
  coalescer_.succeeded(newest);
  if (!newest && coalescer_.idle()) coalescer_.requested(Clock::now());
  host_.on_confirmed(state_->head);
  open_stream();
  if (foreign) stream_.drop({"foreign", "the watch stream belongs to another history than the server's database"});
  schedule_fetch();
  if (changed) reporter_.send_soon();
}

void SyncClient::Impl::retry(FetchResult result, const Error& why) {
  snapshots_.close_idle();  // so that the next attempt can reach another server
  fetch_error_ = why;
  count_result(result, why.text);
  coalescer_.failed(Clock::now(), fetch_backoff_.next(link_.random()));
  open_stream();
  schedule_fetch();
}

// The refused state is fetched again after a back-off, a newer state at once.
void SyncClient::Impl::refuse(const std::optional<sync::Position>& head, const Error& why) {
  trace_.covered();
  const auto& newest = announced_ ? announced_ : announced_at_begin_;
  sync::Position refused = head ? *head : newest.value_or(sync::Position{.revision = 0, .chain = kNoChain});
  // An unreadable document or a wrong checksum can come from a wrong starting state, which a full snapshot replaces.
  need_full_ = why.code != "invalid_snapshot";
  refusal_ = {.refused = std::move(refused), .code = why.code, .text = why.text.substr(0, sync::kMaxReportText)};
  fetch_error_.reset();
  count_result(FetchResult::refused, why.text);
  coalescer_.succeeded(announced_ == refusal_->refused);
  if (observer_.refused) observer_.refused(*refusal_);
  const auto wait = refusal_backoff_.ceiling() / 2 + refusal_backoff_.next(link_.random()) / 2;
  refusal_timer_.set(Clock::now() + std::chrono::duration_cast<Clock::duration>(wait), [this] {
    coalescer_.requested(Clock::now());
    schedule_fetch();
  });
  open_stream();
  schedule_fetch();
  reporter_.send_soon();
}

void SyncClient::Impl::count_result(FetchResult result, std::string_view text) {
  ++counters_.results[static_cast<std::size_t>(result)];
  if (observer_.fetch_ended) observer_.fetch_ended(result, position(), text);
}

}  // namespace sluice::follow
