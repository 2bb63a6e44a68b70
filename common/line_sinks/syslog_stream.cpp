#include "common/line_sinks/syslog_stream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/sockios.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "common/line_sinks/host_addresses.hpp"
#include "common/line_sinks/syslog_faults.hpp"
#include "common/line_sinks/syslog_message.hpp"

namespace sluice::line_sinks {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kProbeAfter{15};  // of an idle connection
constexpr std::chrono::seconds kProbeEvery{5};
constexpr int kProbes = 3;

void set_option(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof(value));  // one that fails costs only time until a fault is noticed
}

// So that a peer that vanished without a word is noticed, and few lines are under way to it.
void set_options(int socket) {
  set_option(socket, SOL_SOCKET, SO_SNDBUF, SyslogStream::kSendBufferBytes);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(kProbeAfter.count()));
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(kProbeEvery.count()));
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(milliseconds(SyslogStream::kSilence).count()));
}

// Returns 0 once `socket` is connected, or an errno.
int await_connection(int socket, milliseconds patience) {
  pollfd entry{.fd = socket, .events = POLLOUT, .revents = 0};
  const int ready = ::poll(&entry, 1, static_cast<int>(std::max(patience, milliseconds(0)).count()));
  if (ready < 0) return errno;
  if (ready == 0) return ETIMEDOUT;
  int fault = 0;
  socklen_t size = sizeof(fault);
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &fault, &size) == 0 ? fault : errno;
}

// Returns 0 and the socket, or an errno.
std::pair<int, FileDescriptor> connect_to(const addrinfo& address, milliseconds patience) {
  FileDescriptor made(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) return {errno, FileDescriptor()};
  set_options(made.get());
  if (::connect(made.get(), address.ai_addr, address.ai_addrlen) == 0) return {0, std::move(made)};
  if (errno != EINPROGRESS) return {errno, FileDescriptor()};
  const int fault = await_connection(made.get(), patience);
  return {fault, std::move(made)};
}

}  // namespace

SyslogStream::SyslogStream(SyslogStreamOptions options, std::string source, Now now)
    : options_(std::move(options)), source_(std::move(source)), now_(std::move(now)) {}

SyslogStream::Written SyslogStream::write(std::string_view text) {
  Written written;
  if (socket_) {
    if (const int fault = fault_of_connection(); fault != 0) disconnect(fault, written);
  }
  if (!socket_) {
    auto connected = connect();
    if (!connected) {
      written.error = std::move(connected.error());
      return written;
    }
    written.error.reset();
  }
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!send(line, written)) break;
    text.remove_prefix(line.size() + 1);
    written.bytes += line.size() + 1;
  }
  forget_acknowledged();
  return written;
}

// Without this, the first line after the peer closed would be sent, and lost. What a peer says is of no interest.
int SyslogStream::fault_of_connection() const {
  std::array<char, 512> said{};
  const ssize_t count = ::recv(socket_.get(), said.data(), said.size(), MSG_DONTWAIT);
  if (count > 0 || (count < 0 && is_slow(errno))) return 0;
  return count == 0 ? EPIPE : errno;
}

Result<> SyslogStream::connect() {
  const Time now = now_();
  if (now < next_attempt_) return std::unexpected(why_closed_);
  auto done = attempt(now);
  const double share = static_cast<double>(random_() - std::minstd_rand::min()) /
                       static_cast<double>(std::minstd_rand::max() - std::minstd_rand::min());
  next_attempt_ = now_() + backoff_.next(share);
  if (done)
    connected_at_ = now_();
  else
    why_closed_ = done.error();
  return done;
}

// Takes the first address that answers.
Result<> SyslogStream::attempt(Time now) {
  const auto found = find_addresses(options_.host, options_.port, SOCK_STREAM);
  if (!found) return std::unexpected(because(kSyslogNotConnected, found.error()));
  int fault = 0;
  for (const addrinfo* each = found->get(); each != nullptr; each = each->ai_next) {
    const auto left = std::chrono::duration_cast<milliseconds>(now + kConnectTimeout - now_());
    auto [cause, made] = connect_to(*each, left);
    if (cause == 0) {
      socket_ = std::move(made);
      return {};
    }
    fault = cause;
  }
  return std::unexpected(because(kSyslogNotConnected, std::strerror(fault)));
}

bool SyslogStream::send(std::string_view line, Written& written) {
  if (frame_.empty()) write_syslog_frame(frame_, clock_.now_us(), source_, line);
  while (sent_ < frame_.size()) {
    const ssize_t count = ::send(socket_.get(), frame_.data() + sent_, frame_.size() - sent_, MSG_NOSIGNAL);
    if (count < 0) {
      const int cause = errno;
      if (!is_slow(cause))
        disconnect(cause, written);
      else if (written.bytes == 0)
        wait_for_room();
      return false;
    }
    sent_ += static_cast<std::size_t>(count);
  }
  in_flight_.push_back(frame_.size());
  in_flight_bytes_ += frame_.size();
  frame_.clear();
  sent_ = 0;
  return true;
}

void SyslogStream::wait_for_room() const {
  pollfd entry{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
  ::poll(&entry, 1, static_cast<int>(kWait.count()));
}

// Also known after the connection broke.
std::size_t SyslogStream::unacknowledged_bytes() const {
  int bytes = 0;
  return ::ioctl(socket_.get(), SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(std::max(bytes, 0)) : 0;
}

void SyslogStream::forget_acknowledged() {
  if (in_flight_.empty()) return;
  const std::size_t unacknowledged = socket_ ? unacknowledged_bytes() : 0;
  while (!in_flight_.empty() && in_flight_bytes_ + sent_ - in_flight_.front() >= unacknowledged) {
    in_flight_bytes_ -= in_flight_.front();
    in_flight_.pop_front();
  }
}

// Counts the lines that are lost. That of frame_ is not: it is sent again.
void SyslogStream::disconnect(int cause, Written& written) {
  forget_acknowledged();
  written.lost += in_flight_.size();
  written.error =
      because(kSyslogNotSent, cause == EPIPE ? "the other side has closed the connection" : std::strerror(cause));
  in_flight_.clear();
  in_flight_bytes_ = 0;
  frame_.clear();
  sent_ = 0;
  why_closed_ = *written.error;
  if (now_() - connected_at_ >= kSettled) {
    backoff_.reset();
    next_attempt_ = Time{};
  }
  socket_ = FileDescriptor();
}

Error SyslogStream::because(std::string code, std::string_view cause) const {
  return {std::move(code), fmt::format("tcp://{}:{}: {}", options_.host, options_.port, cause)};
}

}  // namespace sluice::line_sinks
