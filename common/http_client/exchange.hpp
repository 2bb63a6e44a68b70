// One request and what has come of its response: bytes in, lines out. No I/O, no clock.
//
// Thread safety: none. Held by reference count while its user's functions run: they may cancel it meanwhile.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/http_client/client.hpp"
#include "common/http_client/response_reader.hpp"

namespace sluice::http_client {

// What cannot be sent, for it would be another request than the one that is meant. Error: `request`.
Result<> check_request(const Request& request);

// The whole request as it is sent.
std::string write_request(const Request& request, const Options& options);

class Exchange {
 public:
  Exchange(Request request, Done done, std::size_t max_head_bytes);

  // True: the response is whole; `bytes` is what follows it. Errors: as ResponseReader's. `stop` is asked after each
  // line that was told: true, and nothing more is.
  template <class Stop>
  Result<bool> feed(std::string_view& bytes, Stop stop);

  bool begun() const { return reader_.begun(); }  // something of the response has come
  bool in_body() const { return in_body_; }
  bool keeps_alive() const { return keep_alive_; }
  // Sending it twice does what sending it once does.
  bool repeatable() const {
    return request_.method == "GET" || request_.method == "PUT" || request_.method == "DELETE";
  }
  const Request& request() const { return request_; }

  Response take_response();
  void tell(Result<Response> result) { done_(std::move(result)); }

  bool kept = false;     // asked on a connection that had served before
  bool retried = false;  // asked a second time

 private:
  Result<> begin_body();
  // The next line that is whole (at the body's end: what is left); false: there is none.
  Result<bool> next_line(bool at_end, std::string_view& line);
  void drop_told();

  Request request_;
  Done done_;
  ResponseReader reader_;
  bool in_body_ = false;
  bool keep_alive_ = false;
  bool by_lines_ = false;
  std::size_t told_ = 0;     // of the reader's body: told
  std::size_t scanned_ = 0;  // and looked through for a line's end
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
  if (!by_lines_) return done;
  std::string_view line;
  Result<bool> found = false;
  while ((found = next_line(done, line)) && *found) {
    request_.on_line(line);
    if (stop()) return false;
  }
  if (!found) return found;
  drop_told();
  return done;
}

}  // namespace sluice::http_client
