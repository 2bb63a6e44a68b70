#include "engine/follow/reporter.hpp"

#include <utility>

#include "common/sync/report.hpp"

namespace sluice::follow {
namespace {

constexpr std::chrono::milliseconds kFirstRetry{200};
constexpr std::chrono::seconds kMaxRetry{5};
constexpr std::size_t kMaxReply = std::size_t{64} << 10;  // bytes

}  // namespace

Reporter::Reporter(boost::asio::io_context& context, ServerLink& link, Duration interval, Duration gap, Source source)
    : link_(link),
      interval_(interval),
      source_(std::move(source)),
      client_(context, link.server()),
      coalescer_(gap),
      backoff_(kFirstRetry, kMaxRetry),
      interval_timer_(context),
      send_timer_(context) {}

void Reporter::start() { schedule_interval(); }

// The interval varies, so that agents that started together do not keep reporting together.
void Reporter::schedule_interval() {
  const auto wait = std::chrono::duration_cast<Clock::duration>(interval_ * (0.9 + 0.2 * link_.random()));
  interval_timer_.set(Clock::now() + wait, [this] {
    source_.collect(queue_);
    coalescer_.requested(Clock::now());
    schedule_send();
    schedule_interval();
  });
}

void Reporter::send_soon(Duration spread) {
  if (leaving_) return;
  coalescer_.changed(Clock::now(), sync::jitter(spread, link_.random()));
  schedule_send();
}

void Reporter::schedule_send() {
  const auto due = coalescer_.due();
  if (leaving_ || !due) return;
  send_timer_.set(*due, [this] { send(); });
}

void Reporter::send() {
  if (!coalescer_.begin(Clock::now())) return schedule_send();
  const auto posted = post(sync::write_report(source_.state(), queue_.to_send()),
                           [this](const Result<http_client::Response>& result) { on_reply(result); });
  if (!posted) fail(posted.error());
}

Result<> Reporter::post(std::string body, std::function<void(Result<http_client::Response>)> done) {
  auto request = link_.request("/v1/sync/report");
  if (!request) return std::unexpected(std::move(request.error()));
  request->method = "POST";
  request->body = std::move(body);
  request->max_body = kMaxReply;
  source_.sending(*request);
  client_.send(*std::move(request), std::move(done));
  return {};
}

void Reporter::on_reply(const Result<http_client::Response>& result) {
  if (!result) return fail(result.error());
  if (result->status != 200) return fail(refused_by_server("a report", *result));
  const auto last_stored = sync::parse_report_reply(result->body);
  if (!last_stored) {
    return fail({"reply", "the answer to a report cannot be read: " + last_stored.error().front().text});
  }
  const std::int64_t before = queue_.last_stored();
  if (!queue_.confirm_stored(*last_stored)) {
    return fail({"reply", "the answer to a report confirms a report that was never sent"});
  }
  error_.reset();
  backoff_.reset();
  coalescer_.succeeded();
  // As long as the server stores reports, the next one does not wait for the interval.
  if (!queue_.empty() && queue_.last_stored() > before) coalescer_.requested(Clock::now());
  source_.reported(*last_stored);
  schedule_send();
}

void Reporter::fail(Error why) {
  coalescer_.failed(Clock::now(), backoff_.next(link_.random()));
  error_ = std::move(why);
  source_.failed(*error_);
  schedule_send();
}

void Reporter::send_last(Duration within, std::function<void()> done) {
  leaving_ = true;
  interval_timer_.clear();
  client_.cancel();
  source_.collect(queue_);
  send_timer_.set(Clock::now() + within, [this, done] {
    client_.cancel();
    done();
  });
  const auto answered = [this, done](const Result<http_client::Response>&) {
    send_timer_.clear();
    done();
  };
  sync::AgentState last = source_.state();
  last.leaving = true;
  if (!post(sync::write_report(last, queue_.to_send()), answered)) {
    send_timer_.set(Clock::now(), done);
  }
}

}  // namespace sluice::follow
