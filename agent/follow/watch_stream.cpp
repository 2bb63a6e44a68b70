#include "agent/follow/watch_stream.hpp"

#include <fmt/core.h>

#include <utility>

namespace sluice::agent::follow {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kToOpen{15'000};  // connect, the answer's head and the first line
constexpr milliseconds kLate{250};       // an alarm that rings later was kept waiting by this loop
constexpr milliseconds kAfterLate{1'000};

}  // namespace

WatchStream::WatchStream(boost::asio::io_context& context, ServerLink& link, milliseconds silence, Listener listener)
    : link_(link),
      silence_(silence),
      listener_(std::move(listener)),
      client_(context, link.server()),
      silence_alarm_(context),
      open_alarm_(context) {}

void WatchStream::open() {
  if (client_.busy()) return;
  begun_ = true;
  open_alarm_.clear();
  auto request = link_.request(listener_.target());
  if (!request) return lose(request.error());
  request->max_body = sync::kMaxWatchLineBytes;
  request->idle_timeout = kToOpen + 10 * silence_;  // silence is this class's to judge
  request->on_line = [this](std::string_view line) { on_line(line); };
  expect_line(kToOpen);
  client_.send(*std::move(request), [this](const Result<http_client::Response>& result) { on_done(result); });
}

void WatchStream::reopen() {
  close();
  open();
}

void WatchStream::fail(const Error& why) {
  client_.cancel();
  lose(why);
}

void WatchStream::close() {
  client_.cancel();
  silence_alarm_.clear();
  open_alarm_.clear();
  connected_ = false;
}

void WatchStream::on_line(std::string_view text) {
  if (text.empty()) return;
  const auto line = sync::parse_watch_line(text);
  if (!line) {
    const Fault& fault = line.error().front();
    return fail({"watch_line", fmt::format("a line of the watch stream cannot be read: {}{}{}", fault.pointer,
                                           fault.pointer.empty() ? "" : ": ", fault.text)});
  }
  if (!connected_) {
    connected_ = true;
    reconnect_.connected(Clock::now());
    listener_.opened();
  }
  expect_line(silence_);
  listener_.line(*line);
}

// Where this loop was busy with something else for long, lines may have come that nobody has read yet.
void WatchStream::expect_line(milliseconds within) {
  const auto when = Clock::now() + within;
  silence_alarm_.set(when, [this, when, within] {
    if (Clock::now() - when > kLate) return expect_line(kAfterLate);
    fail({"silent", fmt::format("the watch stream has said nothing for {} ms: it is taken for dead", within.count())});
  });
}

void WatchStream::on_done(const Result<http_client::Response>& result) {
  if (!result) return lose(result.error());
  if (result->status == 200) return lose({"ended", "the watch stream has ended"});
  lose(refused_by_server("the watch stream", *result));
}

void WatchStream::lose(const Error& why) {
  const auto now = Clock::now();
  silence_alarm_.clear();
  connected_ = false;
  open_alarm_.set(now + reconnect_.lost(now, link_.random()), [this] { open(); });
  listener_.lost(why);
}

}  // namespace sluice::agent::follow
