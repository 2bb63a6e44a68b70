#include "server/kubernetes/api_client.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/http_client/client.hpp"
#include "common/json/tree.hpp"

namespace sluice::server::kubernetes {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMaxFileBytes = 64UL * 1024;
constexpr std::size_t kMaxAnswerBytes = 32UL << 20;
constexpr std::size_t kMaxQuoted = 500;  // bytes of the API server's text that an error quotes

// The deadline of a request covers all its phases, so http_client's own time-outs must never come first.
constexpr std::chrono::minutes kNoLimit{10};

Result<std::string> read_small_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure("token", fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad()) return failure("token", fmt::format("{} cannot be read", path));
  if (text.size() > kMaxFileBytes)
    return failure("token", fmt::format("{} is larger than 65536 bytes; it must hold one token", path));
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  if (text.empty()) return failure("token", fmt::format("{} is empty", path));
  return text;
}

Result<std::string> read_token(const std::string& path) {
  if (path.empty()) return std::string();
  auto token = read_small_file(path);
  if (!token) return token;
  const bool visible = std::ranges::all_of(*token, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!visible) return failure("token", fmt::format("{} must hold a token: one line of visible ASCII", path));
  return token;
}

http_client::Options client_options(const ApiOptions& options) {
  http_client::Options made{.server = options.server, .tls = {.ca = options.ca_file}};
  made.connect_timeout = made.head_timeout = made.idle_timeout = kNoLimit;
  made.user_agent = "sluice-server";
  return made;
}

}  // namespace

// A function that calls a user's callback takes a shared_ptr to this object first, because the callback may destroy the
// client.
class ApiClient::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& context, const ApiOptions& options)
      : context_(context), token_file_(options.token_file), max_waiting_(options.max_waiting) {
    for (std::size_t i = 0; i < std::max<std::size_t>(options.connections, 1); ++i) {
      connections_.push_back(std::make_unique<Connection>(context, client_options(options)));
    }
  }

  void send(http_client::Request request, std::chrono::milliseconds deadline, Done done) {
    auto call = std::make_shared<Call>(context_, std::move(request), std::move(done));
    if (waiting_.size() >= max_waiting_) {
      return finish_later(call,
                          {"busy", fmt::format("{} requests to the Kubernetes API wait already", waiting_.size())});
    }
    call->timer.expires_after(deadline);
    call->timer.async_wait([weak = weak_from_this(), call](const boost::system::error_code& stopped) {
      const auto self = weak.lock();
      if (!stopped && self) self->on_deadline(call);
    });
    waiting_.push_back(std::move(call));
    send_waiting();
  }

  void close() {
    closed_ = true;
    for (const CallPtr& call : waiting_) abandon(call);
    for (const auto& connection : connections_) abandon(connection->call);
    waiting_.clear();
    connections_.clear();
  }

 private:
  struct Call {
    Call(asio::io_context& context, http_client::Request to_send, Done callback)
        : request(std::move(to_send)), done(std::move(callback)), timer(context) {}
    http_client::Request request;
    Done done;
    asio::steady_timer timer;
    bool finished = false;  // `done` was called, or never will be
  };
  using CallPtr = std::shared_ptr<Call>;

  struct Connection {
    Connection(asio::io_context& context, http_client::Options options) : client(context, std::move(options)) {}
    http_client::Client client;
    CallPtr call;  // nullptr: idle
  };

  void send_waiting() {
    for (const auto& connection : connections_) {
      while (connection->call == nullptr && !waiting_.empty()) {
        CallPtr call = std::move(waiting_.front());
        waiting_.pop_front();
        start(*connection, std::move(call));
      }
    }
  }

  void start(Connection& connection, CallPtr call) {
    auto token = read_token(token_file_);
    if (!token) return finish_later(call, std::move(token.error()));
    call->request.bearer = *std::move(token);
    connection.call = call;
    connection.client.send(std::move(call->request), [this, &connection, call](Result<http_client::Response> response) {
      const auto self = shared_from_this();
      connection.call = nullptr;
      if (response) {
        finish(call, ApiResponse{response->status, std::move(response->body)});
      } else {
        finish(call, std::unexpected(std::move(response.error())));
      }
      if (!self->closed_) self->send_waiting();
    });
  }

  void on_deadline(const CallPtr& call) {
    if (call->finished) return;
    std::string_view where = "it waited for a connection";
    if (const auto found = std::ranges::find(waiting_, call); found != waiting_.end()) {
      waiting_.erase(found);
    } else {
      const auto connection = std::ranges::find_if(connections_, [&](const auto& each) { return each->call == call; });
      if (connection == connections_.end()) return;
      where = "it was sent, and its answer is unknown";
      (*connection)->client.cancel();
      (*connection)->call = nullptr;
    }
    const auto self = shared_from_this();
    finish(call, failure("timeout", fmt::format("a request to the Kubernetes API took too long: {}", where)));
    if (!closed_) send_waiting();
  }

  void finish_later(const CallPtr& call, Error error) {
    asio::post(context_, [weak = weak_from_this(), call, failure = std::move(error)]() mutable {
      const auto self = weak.lock();
      if (self && !self->closed_) self->finish(call, std::unexpected(std::move(failure)));
    });
  }

  static void abandon(const CallPtr& call) {
    if (!call || std::exchange(call->finished, true)) return;
    call->timer.cancel();
    call->done = nullptr;
  }

  static void finish(const CallPtr& call, Result<ApiResponse> result) {
    if (std::exchange(call->finished, true)) return;
    call->timer.cancel();
    std::exchange(call->done, nullptr)(std::move(result));
  }

  asio::io_context& context_;
  const std::string token_file_;
  const std::size_t max_waiting_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<CallPtr> waiting_;
  bool closed_ = false;
};

ApiClient::ApiClient(asio::io_context& context, ApiOptions options)
    : options_(std::move(options)), impl_(std::make_shared<Impl>(context, options_)) {}

ApiClient::~ApiClient() { impl_->close(); }

void ApiClient::send(std::string method, std::string path, std::string body, std::chrono::milliseconds deadline,
                     Done done, std::string content_type, std::string accept) {
  http_client::Request request;
  request.method = std::move(method);
  request.target = std::move(path);
  request.body = std::move(body);
  request.content_type = std::move(content_type);
  if (!accept.empty()) request.fields.emplace_back("Accept", std::move(accept));
  request.max_body = kMaxAnswerBytes;
  impl_->send(std::move(request), deadline, std::move(done));
}

Result<ApiOptions> in_cluster_options(const program::Environment& environment, std::string_view folder) {
  const char* const host = environment.find("KUBERNETES_SERVICE_HOST");
  const char* const port = environment.find("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr || *host == '\0') {
    return failure("not_in_cluster",
                   "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this program does not run in a "
                   "pod of a cluster");
  }
  ApiOptions options;
  options.server = {{.transport = http_client::Url::Transport::tls, .host = host}};
  const std::string_view digits = port;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), options.server.port);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return failure("not_in_cluster",
                   fmt::format("KUBERNETES_SERVICE_PORT is not a port: {}", program::shown_value(digits)));
  }
  options.ca_file = fmt::format("{}/ca.crt", folder);
  options.token_file = fmt::format("{}/token", folder);
  auto name = read_small_file(fmt::format("{}/namespace", folder));
  for (const std::string& path : {options.ca_file, options.token_file}) {
    if (auto file = read_small_file(path); name && !file) name = std::unexpected(std::move(file.error()));
  }
  if (!name) {
    return failure("not_in_cluster",
                   fmt::format("{}; has the pod automountServiceAccountToken: false?", name.error().text));
  }
  options.namespace_ = *std::move(name);
  return options;
}

std::string error_text(const ApiResponse& response) {
  json::Tree tree;
  const json::Value message = tree.parse(response.body).value_or(json::Value()).get("message");
  if (message.type() != json::Type::string) {
    return fmt::format("the Kubernetes API answers {}", response.status);
  }
  return fmt::format("the Kubernetes API answers {}: {}", response.status, message.text().substr(0, kMaxQuoted));
}

}  // namespace sluice::server::kubernetes
