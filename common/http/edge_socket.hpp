// A TCP socket that waits for input without a system call of its own. StreamConnection can use it in place of an Asio
// socket.
//
// Asio's async_wait() tells epoll about each wait, which is a third of the system calls of a short request. But epoll
// is edge-triggered here: it reports by itself whatever arrives after all input was read. So a wait needs a call only
// if unread input may be left. The kernel says so with each read (TCP_INQ: how many bytes wait; at least 1 after the
// end of the input).
//
// Thread safety: none. wait_for_input() uses Asio's reactor as Asio 1.24 (Boost 1.81) has it; with others, and where
// the kernel has no TCP_INQ, it waits with async_wait().
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/detail/epoll_reactor.hpp>
#include <boost/asio/detail/reactor_op.hpp>
#include <boost/asio/error.hpp>
#include <boost/version.hpp>

#include "common/http/listener.hpp"

namespace sluice::http {

class EdgeSocket : public TcpSocket {
 public:
  using Error = boost::system::error_code;
  using ReactorOp = boost::asio::detail::reactor_op;

  // One wait at a time. Its owner keeps it until it has ended.
  class InputWait : private ReactorOp {
   public:
    // Called on the loop. `dropped`: the io_context ends, and `ec` says nothing.
    using Ended = void (*)(InputWait& wait, const Error& ec, bool dropped);

    explicit InputWait(Ended ended) : ReactorOp(Error(), &perform, &complete), ended_(ended) {}

   private:
    friend class EdgeSocket;

    // "Exhausted": Asio will not take the socket for readable before epoll reports it again.
    static status perform(ReactorOp*) { return done_and_exhausted; }
    static void complete(void* scheduler, boost::asio::detail::operation* operation, const Error&, std::size_t) {
      auto& wait = *static_cast<InputWait*>(operation);
      wait.ended_(wait, wait.ec_, scheduler == nullptr);
    }

    const Ended ended_;
  };

  explicit EdgeSocket(TcpSocket socket)
      : TcpSocket(std::move(socket)),
        reactor_(boost::asio::use_service<Reactor>(get_executor().context())),
        counts_input_(ask_for_count()) {}

  // Whether wait_for_input() can be used: epoll reports all input that is not read yet.
  bool reports_input() const { return drained_; }
  // Ends once there may be input, or with an error as async_wait(). REQUIRES: reports_input().
  void wait_for_input([[maybe_unused]] InputWait& wait) {
#if BOOST_VERSION < 108200
    wait.ec_ = {};
    reactor_.start_op(Reactor::read_op, native_handle(), impl_.get_implementation().reactor_data_, &wait, false, true);
#endif
  }

  // As that of the base. REQUIRES: the socket does not block; `space` is not empty.
  std::size_t read_some(boost::asio::mutable_buffer space, Error& ec) {
    iovec part{.iov_base = space.data(), .iov_len = space.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = counts_input_ ? control : nullptr;
    message.msg_controllen = counts_input_ ? sizeof control : 0;
    ssize_t got = 0;
    do {
      got = ::recvmsg(native_handle(), &message, 0);
    } while (got < 0 && errno == EINTR);
    drained_ = false;
    if (got < 0) {
      drained_ = counts_input_ && (errno == EAGAIN || errno == EWOULDBLOCK);
      ec.assign(errno, boost::asio::error::get_system_category());
      return 0;
    }
    ec = {};
    if (got == 0) ec = boost::asio::error::eof;
    if (counts_input_) drained_ = none_left(message);
    return static_cast<std::size_t>(got);
  }

 private:
  using Reactor = boost::asio::detail::epoll_reactor;

  bool ask_for_count() {
    constexpr int kOn = 1;
    return BOOST_VERSION < 108200 && ::setsockopt(native_handle(), IPPROTO_TCP, TCP_INQ, &kOn, sizeof kOn) == 0;
  }

  static bool none_left(msghdr& message) {
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_level != IPPROTO_TCP || header->cmsg_type != TCP_CM_INQ) return false;
    int left = 0;
    std::memcpy(&left, CMSG_DATA(header), sizeof left);
    return left == 0;
  }

  Reactor& reactor_;
  const bool counts_input_;  // the kernel says how much input is left
  bool drained_ = false;     // the last read found nothing more
};

}  // namespace sluice::http
