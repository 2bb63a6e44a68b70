#include "agent/follow/reporter.hpp"

#include <utility>

#include "common/sync/report.hpp"

namespace sluice::agent::follow {
namespace {

constexpr std::chrono::milliseconds kFirstRetry{200};
constexpr std::chrono::seconds kLongestRetry{5};
constexpr std::size_t kMaxReply = std::size_t{64} << 10;

}  // namespace

Reporter::Reporter(boost::asio::io_context& context, ServerLink& link, Duration interval, Duration gap, Source source)
    : link_(link),
      interval_(interval),
      source_(std::move(source)),
      client_(context, link.server()),
      coalescer_(gap),
      backoff_(kFirstRetry, kLongestRetry),
      interval_alarm_(context),
      send_alarm_(context) {}

void Reporter::start() { plan_interval(); }

// A tenth more or less, so that a fleet that was started at once does not report at once for ever.
void Reporter::plan_interval() {
  const auto wait = std::chrono::duration_cast<Clock::duration>(interval_ * (0.9 + 0.2 * link_.random()));
  interval_alarm_.set(Clock::now() + wait, [this] {
    source_.collect(queue_);
    coalescer_.requested(Clock::now());
    plan();
    plan_interval();
  });
}

void Reporter::soon(Duration spread) {
  if (leaving_) return;
  coalescer_.invalidated(Clock::now(), sync::jitter(spread, link_.random()));
  plan();
}

void Reporter::plan() {
  const auto due = coalescer_.due();
  if (leaving_ || !due) return;
  send_alarm_.set(*due, [this] { send(); });
}

void Reporter::send() {
  if (!coalescer_.begin(Clock::now())) return plan();
  const auto asked = ask(sync::write_report(source_.state(), queue_.to_send()),
                         [this](const Result<http_client::Response>& result) { on_reply(result); });
  if (!asked) fail(asked.error());
}

Result<> Reporter::ask(std::string body, std::function<void(Result<http_client::Response>)> done) {
  auto request = link_.request("/v1/sync/report");
  if (!request) return std::unexpected(std::move(request.error()));
  request->method = "POST";
  request->body = std::move(body);
  request->max_body = kMaxReply;
  client_.send(*std::move(request), std::move(done));
  return {};
}

void Reporter::on_reply(const Result<http_client::Response>& result) {
  if (!result) return fail(result.error());
  if (result->status != 200) return fail(refused_by_server("a report", *result));
  const auto stored = sync::parse_report_reply(result->body);
  if (!stored) return fail({"reply", "the answer to a report cannot be read: " + stored.error().front().text});
  const std::int64_t before = queue_.last_stored();
  if (!queue_.stored(*stored)) return fail({"reply", "the answer to a report names one that was never sent"});
  error_.reset();
  backoff_.reset();
  coalescer_.succeeded();
  // More waits: it does not wait for the next interval. What the server has not stored yet does.
  if (!queue_.empty() && queue_.last_stored() > before) coalescer_.requested(Clock::now());
  source_.reported(*stored);
  plan();
}

void Reporter::fail(Error why) {
  coalescer_.failed(Clock::now(), backoff_.next(link_.random()));
  error_ = std::move(why);
  source_.failed(*error_);
  plan();
}

void Reporter::leave(Duration within, std::function<void()> done) {
  leaving_ = true;
  interval_alarm_.clear();
  client_.cancel();
  source_.collect(queue_);
  send_alarm_.set(Clock::now() + within, [this, done] {
    client_.cancel();
    done();
  });
  const auto over = [this, done](const Result<http_client::Response>&) {
    send_alarm_.clear();
    done();
  };
  sync::AgentState last = source_.state();
  last.leaving = true;
  if (!ask(sync::write_report(last, queue_.to_send()), over)) {
    send_alarm_.set(Clock::now(), done);
  }
}

}  // namespace sluice::agent::follow
