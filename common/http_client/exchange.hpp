// One request with the part of its response that has arrived. No I/O, no clock.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/http_client/client.hpp"
#include "common/http_client/response_reader.hpp"

namespace sluice::http_client {

// Checks that a server cannot misread the request. Error: `request`.
Result<> check_request(const Request& request);

std::string write_request(const Request& request, const Options& options);

class Exchange {
 public:
  Exchange(Request request, Done done, std::size_t max_head_bytes);

  // Takes bytes from the front of `bytes`. Returns whether the response is complete. Calls stop() after each line that
  // Request::on_line got. If stop() returns true, on_line gets no more lines, and feed() returns false.
  // Errors: framing, encoding, too_large. REQUIRES: this object outlives the call, even if on_line cancels the request.
  template <class Stop>
  Result<bool> feed(std::string_view& bytes, Stop stop);

  bool begun() const { return reader_.begun(); }  // some bytes of the response have arrived
  bool in_body() const { return in_body_; }
  bool keeps_alive() const { return keep_alive_; }
  // Whether the method is idempotent.
  bool repeatable() const {
    return request_.method == "GET" || request_.method == "PUT" || request_.method == "DELETE";
  }
  const Request& request() const { return request_; }

  Response take_response();
  void finish(Result<Response> result) { done_(std::move(result)); }

  bool on_kept_connection = false;  // sent on a connection that had served a request before
  bool retried = false;

 private:
  Result<> begin_body();
  // Finds the next complete line. If `at_end` is true, the rest of the body is a line too.
  Result<bool> next_line(bool at_end, std::string_view& line);
  void drop_delivered_bytes();

  Request request_;
  Done done_;
  ResponseReader reader_;
  bool in_body_ = false;
  bool keep_alive_ = false;
  bool delivers_lines_ = false;
  std::size_t delivered_ = 0;  // bytes of the reader's body that were delivered as lines
  std::size_t scanned_ = 0;    // bytes of the reader's body that were searched for a line end
};

template <class Stop>
Result<bool> Exchange::feed(std::string_view& bytes, Stop stop) {
  Result<ResponseReader::Step> step = reader_.feed(bytes);
  if (step && *step == ResponseReader::Step::head) {
    if (Result<> begun = begin_body(); !begun) return std::unexpected(std::move(begun).error());
    step = reader_.feed(bytes);
  }
  if (!step) return std::unexpected(std::move(step).error());
  const bool done = *step == ResponseReader::Step::done;
  if (!delivers_lines_) return done;
  std::string_view line;
  Result<bool> found = false;
  while ((found = next_line(done, line)) && *found) {
    request_.on_line(line);
    if (stop()) return false;
  }
  if (!found) return found;
  drop_delivered_bytes();
  return done;
}

}  // namespace sluice::http_client
