// The other end of a SyslogStream: listens on a port of 127.0.0.1, and takes one connection at a time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/file_descriptor.hpp"

namespace sluice::line_sinks {

class StreamReceiver {
 public:
  explicit StreamReceiver(std::uint16_t port = 0, int receive_buffer = 0)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int yes = 1;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (receive_buffer != 0) {
      ::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    socklen_t size = sizeof(address);
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_.get(), 16) != 0 ||
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
  }

  std::uint16_t port() const { return port_; }

  // Whether a connection waits that accept() has not taken.
  bool is_called() const { return is_ready(listener_.get(), 0); }

  void accept() {
    peer_ = FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    text_.clear();
  }

  // Ends the connection. The other side learns of it by a reset if something is unread.
  void hang_up() { peer_ = FileDescriptor(); }

  void say(std::string_view text) const { ::send(peer_.get(), text.data(), text.size(), MSG_NOSIGNAL); }

  // Reads what has arrived, at most `bytes`.
  void read(std::size_t bytes = SIZE_MAX) {
    std::array<char, 4096> buffer{};
    while (bytes > 0 && is_ready(peer_.get(), 0)) {
      const ssize_t count = ::recv(peer_.get(), buffer.data(), std::min(bytes, buffer.size()), 0);
      if (count <= 0) return;
      text_.append(buffer.data(), static_cast<std::size_t>(count));
      bytes -= static_cast<std::size_t>(count);
    }
  }

  // The texts of the whole frames of this connection so far: what follows " - " in each message.
  std::vector<std::string> lines() {
    read();
    std::vector<std::string> found;
    for (std::string_view rest = text_; !rest.empty();) {
      std::size_t length = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
      const auto digits = static_cast<std::size_t>(end - rest.data());
      if (error != std::errc{} || rest.size() < digits + 1 + length) break;
      const std::string_view message = rest.substr(digits + 1, length);
      found.emplace_back(message.substr(message.find(" - ") + 3));
      rest.remove_prefix(digits + 1 + length);
    }
    return found;
  }

  const std::string& text() const { return text_; }

 private:
  static bool is_ready(int socket, int wait_ms) {
    pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, wait_ms) == 1;
  }

  FileDescriptor listener_;
  FileDescriptor peer_;
  std::uint16_t port_ = 0;
  std::string text_;
};

}  // namespace sluice::line_sinks
