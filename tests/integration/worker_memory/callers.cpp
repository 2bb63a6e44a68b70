#include "tests/integration/worker_memory/callers.hpp"

#include <array>
#include <charconv>
#include <cstdlib>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <protozero/pbf_writer.hpp>

#include "tests/unit/http2/peer.hpp"

namespace sluice::agent {
namespace {

using std::chrono::steady_clock;

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(fd >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

}  // namespace

Wire::Wire(std::uint16_t port) : fd_(connect_to(port)) {}
Wire::~Wire() { ::close(fd_); }

void Wire::send(std::string_view bytes) {
  while (!closed_ && !bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      closed_ = true;
    } else {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
}

std::string Wire::receive(steady_clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
  pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
  if (closed_ || left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) return {};
  std::array<char, 16'384> buffer;
  const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
  closed_ = got <= 0;
  return closed_ ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(got));
}

std::int64_t Answer::number(std::string_view name) const {
  const std::size_t at = text.find(std::string(name) + ": ");
  return at == std::string::npos ? -1 : std::atoll(text.c_str() + at + name.size() + 2);
}

void HttpCaller::post(std::string_view path, std::string_view body) {
  wire_.send("POST " + std::string(path) + " HTTP/1.1\r\nHost: h\r\nx-api-key: " + key_ +
             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
}

Answer HttpCaller::answer(std::chrono::milliseconds patience) {
  const auto until = steady_clock::now() + patience;
  for (;;) {
    Answer answer{.text = input_};
    const std::size_t head = input_.find("\r\n\r\n");
    if (head != std::string::npos) {
      const auto length = answer.number("Content-Length");
      REQUIRE(length >= 0);
      const std::size_t whole = head + 4 + static_cast<std::size_t>(length);
      if (input_.size() >= whole) {
        answer.end = End::answered;
        answer.status = std::atoi(input_.c_str() + 9);
        answer.text.resize(whole);
        input_.erase(0, whole);
        return answer;
      }
    }
    const std::string more = wire_.receive(until);
    if (more.empty()) {
      answer.end = wire_.closed() ? End::closed : End::nothing;
      return answer;
    }
    input_ += more;
  }
}

struct GrpcCaller::Client {
  http2::Peer peer;
  std::int32_t stream = 0;
};

GrpcCaller::GrpcCaller(std::uint16_t port, std::string key)
    : wire_(port), key_(std::move(key)), client_(std::make_unique<Client>()) {}
GrpcCaller::~GrpcCaller() = default;

void GrpcCaller::call(std::string_view method, std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string body{0, static_cast<char>(size >> 24), static_cast<char>(size >> 16), static_cast<char>(size >> 8),
                   static_cast<char>(size)};
  body += message;
  client_->stream = client_->peer.ask({{":method", "POST"},
                                       {":scheme", "http"},
                                       {":path", "/sluice.v1.Decisions/" + std::string(method)},
                                       {":authority", "h"},
                                       {"content-type", "application/grpc"},
                                       {"te", "trailers"},
                                       {"x-api-key", key_}},
                                      std::move(body));
  wire_.send(client_->peer.output());
}

// A stream that is reset is answered, with the status that clients make of it.
Answer GrpcCaller::answer(std::chrono::milliseconds patience) {
  constexpr int kInternal = 13;
  const auto until = steady_clock::now() + patience;
  for (;;) {
    const http2::Got& got = client_->peer.got[client_->stream];
    if (got.closed) {
      const auto status = got.headers.find("grpc-status");
      return {.end = End::answered,
              .status = status == got.headers.end() ? kInternal : std::atoi(status->second.c_str()),
              .text = got.body.size() < 5 ? std::string() : got.body.substr(5)};
    }
    const std::string more = wire_.receive(until);
    if (more.empty()) {
      Answer none;
      none.end = wire_.closed() ? End::closed : End::nothing;
      return none;
    }
    client_->peer.input(more);
    wire_.send(client_->peer.output());
  }
}

std::string check_message(std::string_view subject) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_string(1, "counted");
  out.add_string(2, subject.data(), subject.size());
  return message;
}

std::string stream_message(std::string_view subject) {
  std::string message;
  protozero::pbf_writer out(message);
  out.add_uint64(1, 7);
  out.add_message(2, check_message(subject));
  return message;
}

std::string batch_message(std::string_view subject, int checks) {
  std::string message;
  protozero::pbf_writer out(message);
  for (int i = 0; i < checks; ++i) out.add_message(1, check_message(subject));
  return message;
}

}  // namespace sluice::agent
