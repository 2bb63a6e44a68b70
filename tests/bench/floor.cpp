// The floor under every "HTTP in, one Redis script, HTTP out" service on this stack: what is left of the agent when all
// that it is for is taken away. It keeps no header and no body, checks no key, writes a fixed reply. Requests that wait
// together go to Redis in one write over one connection, as the agent's do.
//
//   bench_floor PORT REDIS_SOCKET SUBJECTS      prints "ready" and serves until it is killed; one thread
//
// A connection has one step under way at a time (a read, or its script), so whoever ends that step owns it.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "tests/bench/floor_script.hpp"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Executor = asio::io_context::executor_type;
using Tcp = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using Unix = asio::basic_stream_socket<asio::local::stream_protocol, Executor>;

using sluice::bench::kFloorScript;

constexpr std::string_view kReply =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"allowed\":true}";

std::string resp(const std::vector<std::string>& words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return out;
}

class Connection;

class Redis {
 public:
  Redis(asio::io_context& context, const std::string& path, std::size_t subjects) : socket_(context) {
    socket_.connect(asio::local::stream_protocol::endpoint(path));
    asio::write(socket_, asio::buffer(resp({"SCRIPT", "LOAD", std::string(kFloorScript)})));
    std::string sha(47, ' ');  // "$40\r\n", the hash, "\r\n"
    asio::read(socket_, asio::buffer(sha));
    if (!sha.starts_with("$40")) throw std::runtime_error("SCRIPT LOAD answered " + sha);
    for (std::size_t i = 0; i < subjects; ++i) {  // a thousand million tokens, one a second: never empty
      char key[64];
      std::snprintf(key, sizeof key, "sl:{bench|subject=user%%3A%06zu}:p=floor", i);
      commands_.push_back(resp({"EVALSHA", sha.substr(5, 40), "1", key, "1000000", "1000000000000000"}));
    }
    read();
  }

  void ask(Connection& connection) {
    waiting_ += commands_[next_++ % commands_.size()];
    asked_.push_back(&connection);
    if (flushing_) return;
    flushing_ = true;  // behind what is ready now, so that it goes out in one write
    asio::post(socket_.get_executor(), [this] { flush(); });
  }

 private:
  void flush() {
    sending_.swap(waiting_);
    waiting_.clear();
    asio::async_write(socket_, asio::buffer(sending_), [this](error_code error, std::size_t) {
      if (error) std::_Exit(1);
      flushing_ = !waiting_.empty();
      if (flushing_) flush();
    });
  }
  void read();

  Unix socket_;
  std::vector<std::string> commands_;
  std::size_t next_ = 0;
  std::string waiting_, sending_;
  bool flushing_ = false;
  std::deque<Connection*> asked_;
  std::array<char, 16384> in_;
};

// Frames requests and keeps nothing of them.
class Framing : public beast::http::basic_parser<true> {
  void on_request_impl(beast::http::verb, beast::string_view, beast::string_view, int, error_code&) override {}
  void on_response_impl(int, beast::string_view, int, error_code&) override {}
  void on_field_impl(beast::http::field, beast::string_view, beast::string_view, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view body, error_code&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, error_code&) override { return body.size(); }
  void on_finish_impl(error_code&) override {}
};

class Connection {
 public:
  Connection(Tcp socket, Redis& redis) : socket_(std::move(socket)), redis_(redis) {
    socket_.non_blocking(true);
    read();
  }
  void answer() {
    error_code error;
    std::size_t sent = socket_.write_some(asio::buffer(kReply), error);
    if (error || sent < kReply.size()) return end();
    parse();
  }

 private:
  void read() {
    socket_.async_read_some(asio::buffer(in_) + size_, [this](error_code error, std::size_t got) {
      if (error) return end();
      size_ += got;
      parse();
    });
  }
  void parse() {
    error_code error;
    Framing framing;
    framing.eager(true);
    const std::size_t used = size_ > 0 ? framing.put(asio::buffer(in_.data(), size_), error) : 0;
    if (error && error != beast::http::error::need_more) return end();
    if (!framing.is_done()) return size_ < in_.size() ? read() : end();  // looked at anew with more of it
    size_ -= used;
    std::copy_n(in_.begin() + static_cast<std::ptrdiff_t>(used), size_, in_.begin());
    redis_.ask(*this);
  }
  void end() { delete this; }

  Tcp socket_;
  Redis& redis_;
  std::array<char, 4096> in_;
  std::size_t size_ = 0;
};

// The script answers ":0\r\n" or ":1\r\n"; anything else ends the program.
void Redis::read() {
  socket_.async_read_some(asio::buffer(in_), [this](error_code error, std::size_t got) {
    if (error) std::_Exit(1);
    for (char byte : std::string_view(in_.data(), got)) {
      if (byte == '-') std::_Exit(2);
      if (byte != '\n') continue;
      Connection* connection = asked_.front();
      asked_.pop_front();
      connection->answer();
    }
    read();
  });
}

void accept(asio::basic_socket_acceptor<asio::ip::tcp, Executor>& acceptor, Redis& redis) {
  acceptor.async_accept([&](error_code error, Tcp socket) {
    if (!error) {
      socket.set_option(asio::ip::tcp::no_delay(true));
      new Connection(std::move(socket), redis);
    }
    accept(acceptor, redis);
  });
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return std::fputs("bench_floor PORT REDIS_SOCKET SUBJECTS\n", stderr), 2;
  asio::io_context context{1};
  Redis redis(context, words[2], std::strtoul(words[3], nullptr, 10));
  const auto port = static_cast<std::uint16_t>(std::strtoul(words[1], nullptr, 10));
  asio::basic_socket_acceptor<asio::ip::tcp, Executor> acceptor(context, {asio::ip::address_v4::loopback(), port});
  accept(acceptor, redis);
  std::puts("ready");
  std::fflush(stdout);
  context.run();
}
