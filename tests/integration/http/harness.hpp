// A TLS server and its clients on one loop, which runs until something is so: no threads, no sleeping.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include "common/http/client_authorities.hpp"
#include "common/http/server.hpp"
#include "common/http/tls.hpp"
#include "tests/unit/http/certificate_maker.hpp"

namespace sluice::http::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Code = boost::system::error_code;

// Runs the loop until `done`; false when `limit` passes first.
template <class Condition>
[[nodiscard]] bool run_until(asio::io_context& context, Condition done, Clock::duration limit = 20s) {
  const auto end = Clock::now() + limit;
  while (!done()) {
    if (Clock::now() >= end) return false;
    context.restart();
    context.run_one_for(10ms);
  }
  return true;
}

// Answers "PATH BODY-SIZE PEER"; /large with as many bytes as its query says; /later when it is told to.
struct Echo final : Handler {
  std::size_t body_limit(std::string_view, std::string_view) const override { return 4'000'000; }
  void handle(Request& request, Reply reply) override {
    ++handled;
    if (request.path == "/later") {
      waiting.push_back(std::move(reply));
    } else if (request.path == "/large") {
      reply.send({.body = large(std::stoul(std::string(request.query)))});
    } else {
      std::string body(request.path);
      body.append(" ").append(std::to_string(request.body.size())).append(" ").append(request.peer);
      reply.send({.body = body});
    }
  }
  static std::string large(std::size_t size) {
    std::string text(size, ' ');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 1'000) % 26);
    return text;
  }

  int handled = 0;
  std::deque<Reply> waiting;
};

struct Rig {
  explicit Rig(ServerOptions options = {}, std::shared_ptr<const ClientAuthorities> clients = nullptr)
      : server(context, options, handler) {
    folder.write(make_pair("one"));
    auto loaded = Certificates::load({folder.path("tls.crt"), folder.path("tls.key")});
    REQUIRE(loaded);
    certificates = *loaded;
    const auto listening = server.listen_tls("127.0.0.1:0", false, certificates, std::move(clients));
    REQUIRE(listening);
    port = *listening;
  }
  ~Rig() {
    handler.waiting.clear();
    server.close_all();
    context.restart();
    context.poll();  // what was in flight ends
  }
  template <class Condition>
  bool until(Condition done, Clock::duration limit = 20s) {
    return run_until(context, done, limit);
  }
  bool all_closed() {
    return until([&] { return server.stats().open_connections == 0; });
  }

  Folder folder;
  std::shared_ptr<Certificates> certificates;
  asio::io_context context;
  Echo handler;
  Server server;
  std::uint16_t port = 0;
};

// Plain TCP: what it sends and gets is what goes over the wire.
class RawClient {
 public:
  explicit RawClient(Rig& rig) : rig_(rig), socket_(rig.context) {
    socket_.connect({asio::ip::make_address("127.0.0.1"), rig.port});
  }
  void send(std::string_view bytes) { asio::write(socket_, asio::buffer(bytes)); }
  // All that comes until the server closes.
  std::string read_all() {
    socket_.non_blocking(true);
    std::string all;
    REQUIRE(rig_.until([&] {
      char space[4096];
      Code ec;
      const std::size_t got = socket_.read_some(asio::buffer(space), ec);
      all.append(space, got);
      if (ec != asio::error::would_block) end = ec;
      return static_cast<bool>(end);
    }));
    return all;
  }
  tcp::socket& socket() { return socket_; }

  Code end;

 private:
  Rig& rig_;
  tcp::socket socket_;
};

struct ClientOptions {
  int version = 0;         // TLS1_2_VERSION …; 0: any
  std::string alpn = {};   // in wire form: "\x08http/1.1"
  int receive_buffer = 0;  // of the kernel, in bytes; 0: its own choice
  PemPair identity = {};   // the client's certificate, with its chain, and key; "": it has none
};

class Client {
 public:
  explicit Client(Rig& rig, const ClientOptions& options = {})
      : rig_(rig), tls_(asio::ssl::context::tls_client), stream_(rig.context, settle(tls_, options)) {
    stream_.next_layer().open(tcp::v4());
    if (options.receive_buffer > 0) {
      stream_.next_layer().set_option(asio::socket_base::receive_buffer_size(options.receive_buffer));
    }
    if (!options.alpn.empty()) {
      SSL_set_alpn_protos(ssl(), reinterpret_cast<const unsigned char*>(options.alpn.data()),
                          static_cast<unsigned>(options.alpn.size()));
    }
    stream_.next_layer().connect({asio::ip::make_address("127.0.0.1"), rig.port});
  }
  ~Client() {
    Code ignored;
    socket().close(ignored);
    rig_.until([this] { return under_way_ == 0; });
  }

  Code shake_hands() {
    return wait([this](auto done) { stream_.async_handshake(asio::ssl::stream_base::client, done); });
  }
  Code send(std::string_view bytes) {
    return wait([this, bytes](auto done) {
      asio::async_write(stream_, asio::buffer(bytes), [done](Code ec, std::size_t) { done(ec); });
    });
  }
  // Sends while other things go on.
  void begin_send(std::string bytes) {
    sending_ = std::move(bytes);
    ++under_way_;
    asio::async_write(stream_, asio::buffer(sending_), [this](Code, std::size_t) { --under_way_; });
  }
  // What OpenSSL says in `act` goes out as it is: a goodbye without waiting for the server's, half a handshake.
  template <class Act>
  void say(Act act) {
    BIO* usual = SSL_get_rbio(ssl());
    BIO* said = BIO_new(BIO_s_mem());
    SSL_set0_wbio(ssl(), said);
    act(ssl());
    char* data = nullptr;
    const long size = BIO_get_mem_data(said, &data);
    asio::write(socket(), asio::buffer(data, static_cast<std::size_t>(size)));
    BIO_up_ref(usual);
    SSL_set0_wbio(ssl(), usual);
  }
  // Reads up to `size` bytes once.
  Code read_some(std::size_t size = 65'536) {
    space_.resize(size);
    return wait([this](auto done) {
      stream_.async_read_some(asio::buffer(space_), [this, done](Code ec, std::size_t got) {
        received.append(space_, 0, got);
        done(ec);
      });
    });
  }
  // The body of the next reply; "STATUS body" where that is not 200.
  std::string reply(std::size_t step = 65'536) {
    std::size_t whole = 0;
    while (!(whole = reply_size())) {
      if (end) return "nothing more: " + end.message();
      end = read_some(step);
    }
    const std::string text = received.substr(0, whole);
    received.erase(0, whole);
    const std::string body = text.substr(text.find("\r\n\r\n") + 4);
    closes = text.find("Connection: close\r\n") != std::string::npos;
    return text.substr(9, 3) == "200" ? body : text.substr(9, 3) + " " + body;
  }
  // Reads to the end: eof where the server said goodbye in TLS.
  Code read_to_end() {
    while (!end) end = read_some();
    return end;
  }
  std::string get(const std::string& path, const std::string& headers = "") {
    const Code sent = send("GET " + path + " HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n");
    return sent ? "not sent: " + sent.message() : reply();
  }
  std::string server_name() {
    X509* certificate = SSL_get1_peer_certificate(ssl());
    char text[64] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof text);
    X509_free(certificate);
    return text;
  }

  SSL* ssl() { return stream_.native_handle(); }
  tcp::socket& socket() { return stream_.next_layer(); }

  std::string received;
  Code end;
  bool closes = false;  // the last reply said so

 private:
  static asio::ssl::context& settle(asio::ssl::context& tls, const ClientOptions& options) {
    tls.set_verify_mode(asio::ssl::verify_none);
    SSL_CTX_set_security_level(tls.native_handle(), 0);  // so that old versions can be tried
    SSL_CTX_set_min_proto_version(tls.native_handle(), options.version);
    SSL_CTX_set_max_proto_version(tls.native_handle(), options.version);
    if (!options.identity.key.empty()) {
      tls.use_certificate_chain(asio::buffer(options.identity.certificate));
      tls.use_private_key(asio::buffer(options.identity.key), asio::ssl::context::pem);
    }
    return tls;
  }

  template <class Start>
  Code wait(Start start) {
    const auto result = std::make_shared<std::pair<bool, Code>>();
    ++under_way_;
    start([this, result](Code ec) {
      --under_way_;
      *result = {true, ec};
    });
    REQUIRE(rig_.until([&] { return result->first; }));
    return result->second;
  }

  std::size_t reply_size() const {
    const std::size_t head = received.find("\r\n\r\n");
    if (head == std::string::npos) return 0;
    const std::size_t at = received.find("Content-Length: ");
    const std::size_t size = head + 4 + (at < head ? std::stoul(received.substr(at + 16, 20)) : 0);
    return received.size() >= size ? size : 0;
  }

  Rig& rig_;
  asio::ssl::context tls_;
  asio::ssl::stream<tcp::socket> stream_;
  std::string space_;
  std::string sending_;
  int under_way_ = 0;
};

inline std::string request(const std::string& path, const std::string& headers = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n";
}

}  // namespace sluice::http::test
