// Calls of a Sluice server or agent, one at a time, each until its answer is there.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/http_client/url.hpp"
#include "ctl/core/document.hpp"

namespace sluice::ctl {

struct Endpoint {
  http_client::Url url;
  std::string ca = {};     // path of CA certificates; "": those of the operating system
  std::string token = {};  // for Authorization; "" for none
  std::chrono::milliseconds timeout{30'000};
};

using Query = std::vector<std::pair<std::string, std::string>>;

struct Call {
  std::string method = "GET";
  std::string path;  // its parts are percent-encoded: see path_to()
  Query query = {};  // a value that is "" is left out
  std::string body = {};
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> fields = {};
};

struct Answer {
  unsigned status = 0;
  std::string text;
  std::string etag;
  Document document;  // null if the text is no JSON

  bool ok() const { return status >= 200 && status < 300; }
};

class Api {
 public:
  explicit Api(Endpoint endpoint);
  ~Api();

  const Endpoint& endpoint() const { return endpoint_; }

  // An answer of any status. Error: `connection`, with the address and what to do.
  Result<Answer> send(const Call& call);
  // An answer of 2xx. Error: `connection`, or the problem's code with its text.
  Result<Answer> call(const Call& call);
  // Calls visit(item) for each item of a list, page by page, until it returns false.
  Result<> list(const Call& call, const std::function<bool(const json::Value&)>& visit);

 private:
  struct Impl;

  Endpoint endpoint_;
  std::unique_ptr<Impl> impl_;
};

// "/v1/admin/plans/pro" for {"plans", "pro"}.
std::string path_to(std::initializer_list<std::string_view> parts);

// Why the server did not do it: the problem's code with its text. Of a token that is not valid, what to do.
// REQUIRES: !answer.ok().
Error error_of(const Answer& answer);

// What a problem (RFC 9457) says: its detail, then a line for each of its faults, if `with_faults`.
std::string describe_problem(const Answer& answer, bool with_faults = true);

// "name=value" texts as members of an object: {"name":"value"}. `numbers`: a value of digits becomes a number.
// Error: `pair`, for a text without "=".
Result<std::string> object_of_pairs(const std::vector<std::string>& pairs, bool numbers);

}  // namespace sluice::ctl
