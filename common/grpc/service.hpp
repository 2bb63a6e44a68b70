// What a gRPC service of a program implements, and the right to answer one call.
//
// Thread safety: none; all of it belongs to the server's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include "common/grpc/status.hpp"
#include "common/tracing/tracer.hpp"

namespace sluice::grpc {

class Call;

void intrusive_ptr_add_ref(Call* call) noexcept;
void intrusive_ptr_release(Call* call) noexcept;

// What happens to a call after the service has got it. Each function may answer the call.
class CallListener {
 public:
  // The next message of a client that streams. The bytes are valid during the call, and may be changed.
  virtual void on_message(std::span<char> /*message*/) {}
  virtual void on_half_close() {}  // the client that streams sends no more
  virtual void on_writable() {}    // everything that was sent has left
  // The server drains: a stream ends soon. Calls with one answer need not do anything.
  virtual void on_drain() {}
  // The client has cancelled the call, its deadline has passed, or its connection is gone. An answer goes nowhere.
  // Called at most once, not after the answer, and last.
  virtual void on_over() = 0;

 protected:
  ~CallListener() = default;
};

// The right to answer one call, once. It may outlive the handler's call, and the call itself: then the answer is
// dropped. If it is destroyed without an answer, the call ends with INTERNAL.
class Reply {
 public:
  explicit Reply(Call& call);
  Reply(Reply&& other) noexcept = default;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  // The value of the first field with this name, in lower case; "" if there is none, or the call is over.
  std::string_view metadata(std::string_view name) const;
  std::string_view peer() const;  // the client's address; "" for Unix sockets
  bool over() const;              // the client no longer waits

  // The span of the call; empty if it is not traced, or over.
  const tracing::ActiveSpan& span() const;
  // Puts the call into another trace than that of its metadata. REQUIRES: span() has no children yet.
  void trace_below(std::string_view traceparent, std::string_view tracestate);

  // Returns false if the call is over. REQUIRES: `listener` lives until on_over(), or until the answer.
  bool listen(CallListener& listener);

  void finish(std::string_view message);  // one message, and the status OK
  void finish(const Status& status);      // without a message; ends a stream

  // Of methods that stream their answers: sends one message.
  void send(std::string_view message);
  // Bytes that wait because the client does not read.
  std::size_t waiting_bytes() const;

  // Of methods whose client streams: no on_message() until go_on(). The client then waits, too.
  void pause();
  void go_on();

 private:
  boost::intrusive_ptr<Call> call_;
};

struct Method {
  std::string_view name;                 // "Check"
  std::size_t max_message = 16UL << 10;  // bytes of a request
  bool client_streams = false;
  bool server_streams = false;
};

class Service {
 public:
  virtual ~Service() = default;

  virtual std::string_view name() const = 0;  // "sluice.v1.Decisions"
  // The list stays the same.
  virtual std::span<const Method> methods() const = 0;
  // Whether calls get spans. Those of probes and tools only fill the collector.
  virtual bool is_traced() const { return true; }

  // `method`: an index into methods(). A call of a method whose client sends one message: here it is. The bytes may be
  // changed, and are valid as long as the Reply.
  virtual void handle(std::size_t method, std::span<char> message, Reply reply) = 0;
  // A call of a method whose client streams. The service listens, or answers at once.
  virtual void open(std::size_t /*method*/, Reply /*reply*/) {}
};

}  // namespace sluice::grpc
