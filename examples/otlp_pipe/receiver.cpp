#include "receiver.hpp"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "gzip.hpp"

namespace otlp_pipe {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using tcp = boost::asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr std::chrono::seconds kIdle{60};
constexpr std::chrono::seconds kLinger{2};
constexpr std::size_t kDiscard = 64 * 1024;
constexpr std::chrono::milliseconds kLastAnswers{250};  // how long a stop waits for answers that are being sent
constexpr std::string_view kProtobuf = "application/x-protobuf";

std::optional<Signal> signal_of(std::string_view target) {
  for (const Signal each : {Signal::logs, Signal::traces, Signal::metrics}) {
    if (target == "/v1/" + std::string(to_string(each))) return each;
  }
  return std::nullopt;
}

Response answer(const Request& request, http::status status, std::string_view type, std::string text) {
  Response response(status, request.version());
  response.set(http::field::content_type, type);
  response.keep_alive(request.keep_alive());
  response.body() = std::move(text);
  response.prepare_payload();
  return response;
}

Response refuse(const Request& request, http::status status, std::string text) {
  return answer(request, status, "text/plain; charset=utf-8", std::move(text) + "\n");
}

// Room in the outbox; given back unless it is used.
class Room {
 public:
  Room(Outbox& outbox, std::size_t bytes) : outbox_(outbox), bytes_(bytes), has_(outbox.admit(bytes)) {}
  ~Room() {
    if (has_) outbox_.leave(bytes_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  explicit operator bool() const { return has_; }
  void fill(Letter letter) {
    has_ = false;
    outbox_.put(std::move(letter), bytes_);
  }

 private:
  Outbox& outbox_;
  const std::size_t bytes_;
  bool has_;
};

// An exporter sends a request again that is answered 503, after the time of Retry-After. Nothing was charged for it.
Response turn_away(const Request& request, Counts& counts) {
  ++counts.turned_away;
  Response response =
      refuse(request, http::status::service_unavailable, "too much waits for the collector; send it again");
  response.set(http::field::retry_after, "1");
  return response;
}

Response take(const Request& request, Signal signal, Parts& parts) {
  if (request[http::field::content_type] != kProtobuf) {
    return refuse(request, http::status::unsupported_media_type, "Content-Type must be application/x-protobuf");
  }
  std::string_view message = request.body();
  std::optional<std::string> unpacked;
  const std::string_view encoding = request[http::field::content_encoding];
  if (encoding == "gzip") {
    GunzipFault fault{};
    unpacked = gunzip(message, parts.options.max_body, fault);
    if (!unpacked && fault == GunzipFault::too_large) {
      return refuse(request, http::status::payload_too_large, "the request is too large: send smaller batches");
    }
    if (!unpacked) return refuse(request, http::status::bad_request, "the body is not gzip");
    message = *unpacked;
  } else if (!encoding.empty() && encoding != "identity") {
    return refuse(request, http::status::unsupported_media_type, "Content-Encoding must be gzip, or none");
  }

  // A marked record grows, so there is room for more than the message.
  Room room(parts.outbox, 2 * message.size());
  if (!room || parts.draining) return turn_away(request, parts.counts);
  auto filtered = filter(signal, message, parts.options.tenancy, parts.engine);
  if (!filtered) return refuse(request, http::status::bad_request, "the body is not the message that this path takes");
  std::string left = parts.options.gzip && filtered->kept > 0 ? gzip(filtered->message) : std::move(filtered->message);
  parts.counts.update(signal, [&filtered](SignalCounts& counts) {
    counts.received += filtered->received;
    counts.dropped += filtered->received - filtered->kept;
    counts.sampled += filtered->sampled;
    counts.undecided += filtered->undecided;
    counts.waiting += filtered->kept;
  });
  if (filtered->kept > 0) {
    room.fill({.signal = signal,
               .message = std::move(left),
               .packed = parts.options.gzip,
               .records = filtered->kept,
               .accepted = std::chrono::steady_clock::now()});
  }
  return answer(request, http::status::ok, kProtobuf, "");  // an empty response message: all is well
}

Response handle(const Request& request, Parts& parts) {
  const std::string_view target = request.target();
  if (const auto signal = signal_of(target)) {
    if (request.method() != http::verb::post)
      return refuse(request, http::status::method_not_allowed, "send it with POST");
    return take(request, *signal, parts);
  }
  if (target == "/metrics")
    return answer(request, http::status::ok, "text/plain; version=0.0.4", prometheus_text(parts.counts));
  if (target == "/healthz") return refuse(request, http::status::ok, "ok");
  return refuse(request, http::status::not_found,
                "the paths are /v1/logs, /v1/traces, /v1/metrics, /metrics and /healthz");
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Parts& parts) : stream_(std::move(socket)), parts_(parts) {}

  void read() {
    parser_.emplace();
    parser_->body_limit(parts_.options.max_body);
    stream_.expires_after(kIdle);
    http::async_read(stream_, buffer_, *parser_, beast::bind_front_handler(&Session::on_read, shared_from_this()));
  }

 private:
  void on_read(beast::error_code failed, std::size_t) {
    if (failed == http::error::body_limit) {
      Request request = parser_->get();
      request.keep_alive(false);
      return write(refuse(request, http::status::payload_too_large, "the request is too large: send smaller batches"));
    }
    if (failed) return close();
    write(handle(parser_->get(), parts_));
  }

  void write(Response response) {
    response_ = std::move(response);
    if (parts_.draining) response_.keep_alive(false);
    stream_.expires_after(kIdle);
    http::async_write(stream_, response_, beast::bind_front_handler(&Session::on_write, shared_from_this()));
  }

  void on_write(beast::error_code failed, std::size_t) {
    if (failed || !response_.keep_alive()) return close();
    read();
  }

  // Reads on for a moment: a connection that is closed with bytes unread is reset, and the answer may be lost with it.
  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kLinger);
    discard();
  }

  void discard() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kDiscard),
                            [self = shared_from_this()](beast::error_code failed, std::size_t) {
                              if (!failed) self->discard();
                            });
  }

  beast::tcp_stream stream_;
  Parts& parts_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Response response_;
};

}  // namespace

Receiver::Receiver(boost::asio::io_context& context, const tcp::endpoint& address, Parts& parts)
    : context_(context), acceptor_(context, address), parts_(parts), last_answers_(context) {
  accept();
}

// A session runs on a strand of its own, so that any thread may go on with it.
void Receiver::accept() {
  acceptor_.async_accept(boost::asio::make_strand(context_), [this](beast::error_code failed, tcp::socket socket) {
    if (parts_.draining) return;
    if (!failed) std::make_shared<Session>(std::move(socket), parts_)->read();
    accept();
  });
}

void Receiver::stop() {
  parts_.draining = true;
  beast::error_code ignored;
  acceptor_.close(ignored);
  last_answers_.expires_after(kLastAnswers);
  last_answers_.async_wait([this](beast::error_code) { context_.stop(); });
}

}  // namespace otlp_pipe
