#include "engine/follow/watch_stream.hpp"

#include <fmt/core.h>

#include <utility>

#include "common/sync/snapshot_document.hpp"

namespace sluice::follow {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kOpenTimeout{15'000};  // until the first line
constexpr milliseconds kLate{250};            // a timer that is later than this was delayed by a busy loop
constexpr milliseconds kAfterLate{1'000};     // time for the loop to read lines that arrived while it was busy

}  // namespace

WatchStream::WatchStream(boost::asio::io_context& context, ServerLink& link, milliseconds silence, Listener listener)
    : link_(link),
      silence_(silence),
      listener_(std::move(listener)),
      client_(context, link.server()),
      silence_timer_(context),
      open_timer_(context) {}

void WatchStream::open() {
  if (client_.busy()) return;
  begun_ = true;
  open_timer_.clear();
  auto request = link_.request(listener_.target());
  if (!request) return on_lost(request.error());
  request->max_body = sync::kMaxWatchLineBytes;
  request->fields.emplace_back(sync::kReadsField, sync::kReadsWhatIf);
  request->idle_timeout = kOpenTimeout + 10 * silence_;  // expect_line() detects silence earlier
  request->on_line = [this](std::string_view line) { on_line(line); };
  expect_line(kOpenTimeout);
  client_.send(*std::move(request), [this](const Result<http_client::Response>& result) { on_done(result); });
}

void WatchStream::reopen() {
  close();
  open();
}

void WatchStream::drop(const Error& why) {
  client_.cancel();
  on_lost(why);
}

void WatchStream::close() {
  client_.cancel();
  silence_timer_.clear();
  open_timer_.clear();
  connected_ = false;
}

void WatchStream::on_line(std::string_view text) {
  if (text.empty()) return;
  const auto line = sync::parse_watch_line(text);
  if (!line) {
    const Fault& fault = line.error().front();
    return drop({"watch_line", fmt::format("a line of the watch stream cannot be read: {}{}{}", fault.pointer,
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

void WatchStream::expect_line(milliseconds within) {
  const auto when = Clock::now() + within;
  silence_timer_.set(when, [this, when, within] {
    if (Clock::now() - when > kLate) return expect_line(kAfterLate);
    drop({"silent", fmt::format("the watch stream was silent for {} ms; the agent opens it again", within.count())});
  });
}

void WatchStream::on_done(const Result<http_client::Response>& result) {
  if (!result) return on_lost(result.error());
  if (result->status == 200) return on_lost({"ended", "the watch stream has ended"});
  on_lost(refused_by_server("the watch stream", *result));
}

void WatchStream::on_lost(const Error& why) {
  const auto now = Clock::now();
  silence_timer_.clear();
  connected_ = false;
  open_timer_.set(now + reconnect_.lost(now, link_.random()), [this] { open(); });
  listener_.lost(why);
}

}  // namespace sluice::follow
