// Our client against our server, over every transport, and against servers that do as they are told; one loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/local/stream_protocol.hpp>

#include "common/http/gzip.hpp"
#include "common/http_client/client.hpp"
#include "tests/integration/http/authority.hpp"
#include "tests/integration/http/harness.hpp"

namespace sluice::http::test {

namespace client = sluice::http_client;

struct Site final : Handler, StreamEvents {
  std::size_t body_limit(std::string_view, std::string_view) const override { return 4'000'000; }
  void handle(Request& request, Reply reply) override {
    ++handled;
    authorization = request.header("authorization");
    if (request.path == "/never") {
      waiting.push_back(std::move(reply));
    } else if (request.path == "/watch") {
      stream = reply.stream({.content_type = "application/x-ndjson"}, *this);
    } else if (request.path == "/snapshot") {
      const bool packs = request.header("accept-encoding") == "gzip";
      reply.send({.headers = packs ? "Content-Encoding: gzip\r\n" : "", .shared_body = packs ? packed : plain});
    } else {
      reply.send({.body = {request.body.data(), request.body.size()}});
    }
  }
  void on_writable() override { ++writable_calls; }
  void on_ended() override { ++ends; }

  int handled = 0;
  std::string authorization;
  std::deque<Reply> waiting;
  Stream stream;
  int writable_calls = 0;
  int ends = 0;
  SharedBody plain = std::make_shared<const std::string>(Echo::large(3'000'000));
  SharedBody packed = std::make_shared<const std::string>(gzip(*plain));
};

enum class Over : std::uint8_t { tcp, unix_socket, tls };

struct ClientRig {
  explicit ClientRig(Over transport = Over::tcp, ServerOptions options = {}) : server(context, options, site) {
    if (transport == Over::unix_socket) {
      REQUIRE(server.listen_unix(folder.path("socket")));
      url = "unix:" + folder.path("socket");
    } else if (transport == Over::tcp) {
      const auto listening = server.listen_tcp("127.0.0.1:0", false);
      REQUIRE(listening);
      url = "http://127.0.0.1:" + std::to_string(*listening);
    } else {
      folder.write("ca.crt", authority.certificate());
      listen_tls(authority.issue("DNS:localhost,IP:127.0.0.1"));
    }
  }
  ~ClientRig() {
    site.waiting.clear();
    site.stream = {};
    server.close_all();
    context.restart();
    context.poll();
  }
  void listen_tls(const PemPair& pair, std::shared_ptr<const ClientAuthorities> clients = nullptr) {
    folder.write(pair);
    const auto loaded = Certificates::load({folder.path("tls.crt"), folder.path("tls.key")});
    REQUIRE(loaded);
    const auto listening = server.listen_tls("127.0.0.1:0", false, *loaded, std::move(clients));
    REQUIRE(listening);
    port = *listening;
    url = "https://127.0.0.1:" + std::to_string(port);
  }
  client::Options options() const {
    client::Options made{.server = *client::parse_url(url)};
    if (made.server.transport == client::Url::Transport::tls) made.tls.ca = folder.path("ca.crt");
    return made;
  }
  template <class Condition>
  bool until(Condition done) {
    return run_until(context, done);
  }

  Folder folder;
  Authority authority;
  asio::io_context context;
  Site site;
  Server server;
  std::string url;
  std::uint16_t port = 0;
};

// Sends what it is told to whoever connects and has sent a whole request; says what it got.
class Scripted {
 public:
  // `then_close`: after the answer, else it keeps the connection.
  Scripted(asio::io_context& context, std::string answer, bool then_close)
      : acceptor_(context, {asio::ip::make_address("127.0.0.1"), 0}), answer_(std::move(answer)), close_(then_close) {
    accept();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }
  void answer_with(std::string answer) { answer_ = std::move(answer); }
  void close_all() {
    for (const auto& peer : peers_) peer->socket.close();
    peers_.clear();
  }

  int connections = 0;
  int hang_up_next = 0;  // so many requests get no answer but the end
  std::string got;

 private:
  struct Peer {
    explicit Peer(tcp::socket its_socket) : socket(std::move(its_socket)) {}
    tcp::socket socket;
    char space[4096] = {};
    std::string got;
  };

  void accept() {
    acceptor_.async_accept([this](Code ec, tcp::socket socket) {
      if (ec) return;
      ++connections;
      peers_.push_back(std::make_shared<Peer>(std::move(socket)));
      read(peers_.back());
      accept();
    });
  }
  void read(const std::shared_ptr<Peer>& peer) {
    peer->socket.async_read_some(asio::buffer(peer->space), [this, peer](Code ec, std::size_t size) {
      if (ec) return;
      peer->got.append(peer->space, size);
      if (peer->got.find("\r\n\r\n") == std::string::npos) return read(peer);
      got = std::exchange(peer->got, {});
      if (hang_up_next-- > 0) return peer->socket.close();
      asio::write(peer->socket, asio::buffer(answer_), ec);
      if (close_) return peer->socket.close();
      read(peer);
    });
  }

  tcp::acceptor acceptor_;
  std::string answer_;
  bool close_;
  std::vector<std::shared_ptr<Peer>> peers_;
};

// The response to `request`; REQUIREs that something comes of it.
inline Result<client::Response> asked(asio::io_context& context, client::Client& asking, client::Request request) {
  std::optional<Result<client::Response>> told;
  asking.send(std::move(request), [&](Result<client::Response> result) { told = std::move(result); });
  REQUIRE_FALSE(told);
  REQUIRE(run_until(context, [&] { return told.has_value(); }));
  return *std::move(told);
}

// The body, or the error's code.
inline std::string text_of(const Result<client::Response>& result) {
  return result ? result->body : result.error().code;
}

}  // namespace sluice::http::test
