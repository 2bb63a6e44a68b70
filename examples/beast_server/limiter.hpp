// The middleware: asks the engine about each request, and answers those that are denied.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/http.hpp>

#include <sluice/engine.hpp>

namespace beast_server {

namespace http = boost::beast::http;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

// One request's admission. Its lease, if the policy has a `concurrency` limit, ends with the object: keep it until the
// response is sent or the connection is gone.
struct Admission {
  std::optional<Response> denied;  // the answer, if the request is not admitted
  std::string headers;             // "Name: value\r\n" for each, for the answer of an admitted request
  sluice::v1::Lease lease;
};

class Limiter {
 public:
  explicit Limiter(sluice::v1::Engine& engine) : engine_(engine) {}

  // `route`: the pattern that the path matches, such as "/orders/{id}", never the path itself: a caller must not get a
  // new counter by another path. `peer`: who has connected; behind a proxy, take it from a header that the proxy sets.
  Admission admit(const Request& request, std::string_view route, const boost::asio::ip::address& peer);

 private:
  sluice::v1::Engine& engine_;
};

// Adds "Name: value\r\n" lines to a response.
void add_headers(Response& response, std::string_view lines);

}  // namespace beast_server
