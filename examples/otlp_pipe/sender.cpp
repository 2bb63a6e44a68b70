#include "sender.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <random>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

namespace otlp_pipe {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using tcp = boost::asio::ip::tcp;

constexpr milliseconds kFirstPause{100}, kLongestPause{5'000};
constexpr milliseconds kNap{50};  // how often this looks whether the end has come

milliseconds retry_after_of(const http::response<http::string_body>& response) {
  const std::string_view text = response[http::field::retry_after];
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || seconds < 0) return milliseconds(0);
  return std::min(milliseconds(seconds * 1000LL), milliseconds(30'000));
}

// How many records the collector did not take of a request that it answers 200: partial_success of
// Export…ServiceResponse. An answer that cannot be read rejects nothing.
std::size_t rejected_of(const http::response<http::string_body>& response, std::size_t records) {
  constexpr std::uint32_t kPartialSuccess = 1, kRejected = 1;
  std::int64_t rejected = 0;
  try {
    protozero::pbf_reader answer(response.body());
    while (answer.next(kPartialSuccess, protozero::pbf_wire_type::length_delimited)) {
      protozero::pbf_reader partial = answer.get_message();
      while (partial.next(kRejected, protozero::pbf_wire_type::varint)) rejected = partial.get_int64();
    }
  } catch (const protozero::exception&) {
    return 0;
  }
  return std::min(static_cast<std::size_t>(std::max<std::int64_t>(rejected, 0)), records);
}

}  // namespace

// One connection to the collector, opened when it is needed.
class Sender::Connection {
 public:
  Connection(const SenderOptions& options, const std::atomic<bool>& given_up)
      : options_(options), given_up_(given_up) {}

  // The pause that the collector asks for is put into `pause`; of what is taken, `rejected` records were not.
  Outcome send(const Letter& letter, milliseconds& pause, std::size_t& rejected) {
    const bool was_open = stream_.has_value();
    Outcome outcome = try_once(letter, pause, rejected);
    // The collector may have closed a connection that was idle. This request had no answer, so it goes again at once.
    if (outcome == Outcome::again && was_open && !answered_ && !given_up_) outcome = try_once(letter, pause, rejected);
    return outcome;
  }

 private:
  Outcome try_once(const Letter& letter, milliseconds& pause, std::size_t& rejected) {
    answered_ = false;
    http::request<http::string_body> request(
        http::verb::post, options_.collector.path + "/v1/" + std::string(to_string(letter.signal)), 11);
    request.set(http::field::host, options_.collector.host + ":" + options_.collector.port);
    request.set(http::field::content_type, "application/x-protobuf");
    if (letter.packed) request.set(http::field::content_encoding, "gzip");
    request.set(http::field::user_agent, "sluice-otlp-pipe");
    request.body() = letter.message;
    request.prepare_payload();

    http::response<http::string_body> response;
    if (!exchange(request, response)) {
      stream_.reset();
      return Outcome::again;
    }
    answered_ = true;
    if (!response.keep_alive()) stream_.reset();
    switch (response.result_int()) {
      case 200:
      case 202:
        rejected = rejected_of(response, letter.records);
        return Outcome::taken;
      case 429:
      case 502:
      case 503:
      case 504:
        pause = std::max(pause, retry_after_of(response));
        return Outcome::again;
      default:
        return Outcome::refused;
    }
  }

  // Beast has deadlines for asynchronous calls only, so this thread runs a loop of its own for each step. A collector
  // that does not answer does not hold up the end.
  bool exchange(http::request<http::string_body>& request, http::response<http::string_body>& response) {
    beast::error_code failed;
    const auto run = [&](auto start) {
      loop_.restart();
      start([&failed](beast::error_code error, auto&&...) { failed = error; });
      while (!loop_.stopped()) {
        loop_.run_for(kNap);
        if (given_up_) stream_->cancel();
      }
      return !failed;
    };
    if (!stream_) {
      tcp::resolver resolver(loop_);
      tcp::resolver::results_type found;
      found = resolver.resolve(options_.collector.host, options_.collector.port, failed);
      if (failed) return false;
      stream_.emplace(loop_);
      stream_->expires_after(options_.deadline);
      if (!run([&](auto done) { stream_->async_connect(found, done); })) return false;
    }
    stream_->expires_after(options_.deadline);
    if (!run([&](auto done) { http::async_write(*stream_, request, done); })) return false;
    beast::flat_buffer buffer;
    return run([&](auto done) { http::async_read(*stream_, buffer, response, done); });
  }

  const SenderOptions& options_;
  const std::atomic<bool>& given_up_;
  boost::asio::io_context loop_{1};
  std::optional<beast::tcp_stream> stream_;
  bool answered_ = false;
};

Sender::Sender(const SenderOptions& options, Outbox& outbox, Counts& counts)
    : options_(options), outbox_(outbox), counts_(counts), thread_([this] { run(); }) {}

void Sender::run() {
  Connection connection(options_, given_up_);
  while (const auto letter = outbox_.take()) {
    deliver(connection, *letter);
    outbox_.done(*letter);
  }
}

void Sender::deliver(Connection& connection, const Letter& letter) {
  std::minstd_rand random(std::random_device{}());
  std::size_t rejected = 0;
  const auto settle = [&](std::uint64_t SignalCounts::* as) {
    counts_.update(letter.signal, [&](SignalCounts& counts) {
      counts.waiting -= letter.records;
      counts.*as += letter.records - rejected;
      counts.refused += rejected;
    });
  };
  for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    milliseconds wait = milliseconds(std::uniform_int_distribution<long>(pause.count() / 2, pause.count())(random));
    switch (connection.send(letter, wait, rejected)) {
      case Outcome::taken:
        return settle(&SignalCounts::forwarded);
      case Outcome::refused:
        return settle(&SignalCounts::refused);
      case Outcome::again:
        break;
    }
    const auto until = steady_clock::now() + wait;
    if (until - letter.accepted > options_.patience) return settle(&SignalCounts::given_up);
    while (steady_clock::now() < until && !given_up_) {
      if (!outbox_.sleep(kNap)) std::this_thread::sleep_for(kNap);  // it is closed: what is left is still tried
    }
    if (given_up_) return settle(&SignalCounts::given_up);
    ++counts_.retries;
  }
}

}  // namespace otlp_pipe
