#include "common/http/tls_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <boost/asio/error.hpp>

#include "common/http/problem.hpp"
#include "common/http/response_writer.hpp"

namespace sluice::http {

namespace asio = boost::asio;

// The BIO (OpenSSL's I/O object) over the socket. OpenSSL's own socket BIO would raise SIGPIPE when the client is gone.
struct SocketBio {
  using Link = TlsSocket::Link;

  static BIO* make(Link& link) {
    static BIO_METHOD* const method = make_method();
    BIO* bio = BIO_new(method);
    if (bio == nullptr) return nullptr;
    BIO_set_data(bio, &link);
    BIO_set_init(bio, 1);
    return bio;
  }

 private:
  static BIO_METHOD* make_method() {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sluice socket");
    if (method == nullptr) return nullptr;
    BIO_meth_set_read(method, &read);
    BIO_meth_set_write(method, &write);
    BIO_meth_set_ctrl(method, &control);
    return method;
  }

  static Link& link_of(BIO* bio) { return *static_cast<Link*>(BIO_get_data(bio)); }
  static bool must_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

  static int read(BIO* bio, char* data, int size) {
    Link& link = link_of(bio);
    BIO_clear_retry_flags(bio);
    if (link.budget == 0) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const ssize_t got =
        ::recv(link.descriptor, data, std::min(static_cast<std::size_t>(size), link.budget), MSG_DONTWAIT);
    if (got > 0) {
      link.received = true;
      link.budget -= static_cast<std::size_t>(got);
    }
    if (got == 0) link.ended = true;
    if (got < 0 && must_wait()) BIO_set_retry_read(bio);
    return static_cast<int>(got);
  }

  static int write(BIO* bio, const char* data, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t sent =
        ::send(link_of(bio).descriptor, data, static_cast<std::size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && must_wait()) BIO_set_retry_write(bio);
    return static_cast<int>(sent);
  }

  static long control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return link_of(bio).ended ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
};

namespace {

// The most bytes that one read may take from the socket. Without this limit a client could keep the thread busy with
// TLS protocol messages alone.
constexpr std::size_t kReadBudget = 256UL * 1024;

std::string plain_http_refusal() {
  std::string body;
  write_problem({.status = 400,
                 .type = "/problems/tls-required",
                 .detail = "This port speaks HTTP over TLS: write https:// in the URL."},
                body);
  std::string text;
  write_response({.status = 400, .content_type = kProblemType, .body = body}, {.close = true}, "", text);
  return text;
}

}  // namespace

TlsSocket::TlsSocket(Socket socket, SessionPtr session) : socket_(std::move(socket)), session_(std::move(session)) {
  link_.descriptor = socket_.native_handle();
  BIO* bio = SocketBio::make(link_);
  failed_ = bio == nullptr;  // out of memory: handshake() will fail
  if (bio != nullptr) SSL_set_bio(session_.get(), bio, bio);
  SSL_set_accept_state(session_.get());
}

TlsSocket::Handshake TlsSocket::handshake() {
  if (failed_) return Handshake::failed;
  link_.budget = kReadBudget;
  ERR_clear_error();
  const int result = SSL_accept(session_.get());
  if (result == 1) {
    needs_socket_data_ = false;  // the first request may have arrived together with the end of the handshake
    return Handshake::done;
  }
  const int error = SSL_get_error(session_.get(), result);
  if (error == SSL_ERROR_WANT_READ) return Handshake::wants_read;
  if (error == SSL_ERROR_WANT_WRITE) return Handshake::wants_write;
  failed_ = true;
  if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) {
    const std::string refusal = plain_http_refusal();
    Error ignored;
    socket_.write_some(asio::buffer(refusal), ignored);
  }
  return Handshake::failed;
}

bool TlsSocket::handshake_begun() {
  Error ec;
  return link_.received || socket_.available(ec) > 0;
}

// A call that reads some bytes reports no error. If an error or the end of data follows, the next call reports it.
std::size_t TlsSocket::read_some(asio::mutable_buffer space, Error& ec) {
  ec = {};
  if (failed_) ec = asio::error::connection_aborted;
  link_.budget = kReadBudget;
  std::size_t total = 0;
  while (total < space.size() && !ec) {
    std::size_t got = 0;
    ERR_clear_error();
    const int result =
        SSL_read_ex(session_.get(), static_cast<char*>(space.data()) + total, space.size() - total, &got);
    total += got;
    const int error = SSL_get_error(session_.get(), result);
    needs_socket_data_ = error == SSL_ERROR_WANT_READ;
    translate_error(error, SSL_ERROR_WANT_READ, ec);
  }
  if (total > 0) ec = {};
  return total;
}

std::size_t TlsSocket::write_some(asio::const_buffer bytes, Error& ec) {
  ec = {};
  if (failed_) ec = asio::error::connection_aborted;
  std::size_t total = 0;
  while (total < bytes.size() && !ec) {
    std::size_t sent = 0;
    ERR_clear_error();
    const int result =
        SSL_write_ex(session_.get(), static_cast<const char*>(bytes.data()) + total, bytes.size() - total, &sent);
    total += sent;
    const int error = SSL_get_error(session_.get(), result);
    partial_record_sent_ = error == SSL_ERROR_WANT_WRITE;
    translate_error(error, SSL_ERROR_WANT_WRITE, ec);
  }
  if (total > 0) ec = {};
  return total;
}

// `worth_waiting` is the only error after which waiting helps, because renegotiation is off.
void TlsSocket::translate_error(int error, int worth_waiting, Error& ec) {
  if (error == SSL_ERROR_NONE) return;
  if (error == worth_waiting) {
    ec = asio::error::would_block;
  } else if (error == SSL_ERROR_ZERO_RETURN) {
    ec = asio::error::eof;
  } else {
    failed_ = true;
    ec = asio::error::connection_aborted;
  }
}

std::size_t TlsSocket::available(Error& ec) {
  const std::size_t in_socket = socket_.available(ec);
  return in_socket > 0 || failed_ ? in_socket : static_cast<std::size_t>(SSL_has_pending(session_.get()));
}

void TlsSocket::shutdown(Wait::shutdown_type what, Error& ec) {
  send_close_notify();
  socket_.shutdown(what, ec);
}

void TlsSocket::close(Error& ec) {
  send_close_notify();
  failed_ = true;
  link_.descriptor = -1;  // the kernel may give this descriptor to another connection
  socket_.close(ec);
}

// Does not wait for the client's close_notify.
void TlsSocket::send_close_notify() {
  SSL* session = session_.get();
  const bool sent = (SSL_get_shutdown(session) & SSL_SENT_SHUTDOWN) != 0;
  if (failed_ || partial_record_sent_ || sent || SSL_is_init_finished(session) == 0) return;
  ERR_clear_error();
  SSL_shutdown(session);
}

}  // namespace sluice::http
