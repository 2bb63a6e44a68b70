// Clients of a worker on the thread of the test. Each waits for an answer, or until the worker closes its connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::agent {

// One connection over the loopback.
class Wire {
 public:
  explicit Wire(std::uint16_t port);
  ~Wire();
  Wire(const Wire&) = delete;

  void send(std::string_view bytes);  // nothing, if the connection is closed
  // Waits for more bytes. Returns "" if the connection is closed, or if none came in time.
  std::string receive(std::chrono::steady_clock::time_point until);
  bool closed() const { return closed_; }

 private:
  const int fd_;
  bool closed_ = false;
};

enum class End : std::uint8_t { answered, closed, nothing };

struct Answer {
  End end = End::nothing;
  int status = 0;    // of HTTP, or of gRPC
  std::string text;  // headers and body, or the message

  // The number behind `name` in the headers; -1 if there is none.
  std::int64_t number(std::string_view name) const;
};

// POSTs over HTTP.
class HttpCaller {
 public:
  HttpCaller(std::uint16_t port, std::string key) : wire_(port), key_(std::move(key)) {}

  void post(std::string_view path, std::string_view body);
  Answer answer(std::chrono::milliseconds patience);

 private:
  Wire wire_;
  std::string key_;
  std::string input_;
};

// Calls sluice.v1.Decisions.
class GrpcCaller {
 public:
  GrpcCaller(std::uint16_t port, std::string key);
  ~GrpcCaller();

  void call(std::string_view method, std::string_view message);
  Answer answer(std::chrono::milliseconds patience);  // to the last call

 private:
  struct Client;
  Wire wire_;
  std::string key_;
  std::unique_ptr<Client> client_;
};

// A CheckRequest, and a CheckBatchRequest with so many of them.
std::string check_message(std::string_view subject);
std::string stream_message(std::string_view subject);  // a CheckStreamRequest
std::string batch_message(std::string_view subject, int checks);

}  // namespace sluice::agent
