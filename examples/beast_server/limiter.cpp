#include "limiter.hpp"

#include <algorithm>
#include <cstdint>

namespace beast_server {
namespace {

// A socket for both families shows callers of IPv4 as ::ffff:203.0.113.7, which are not one network.
boost::asio::ip::address address_of(const boost::asio::ip::address& peer) {
  if (!peer.is_v6() || !peer.to_v6().is_v4_mapped()) return peer;
  return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, peer.to_v6());
}

// Whoever has an IPv6 network has 2^64 addresses at least, so the network is the caller.
std::string network_of(const boost::asio::ip::address& address) {
  if (!address.is_v6()) return address.to_string();
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
  return boost::asio::ip::address_v6(bytes).to_string() + "/64";
}

Response denial(const Request& request, const sluice::v1::Decision& decision) {
  const bool overloaded =
      decision.reason == sluice::v1::Reason::fail_closed || decision.reason == sluice::v1::Reason::overload;
  Response response(overloaded ? http::status::service_unavailable : http::status::too_many_requests,
                    request.version());
  response.set(http::field::content_type, "application/problem+json");
  add_headers(response, decision.headers);
  response.keep_alive(request.keep_alive());
  response.body() = R"({"title":"Too many requests","status":)" + std::to_string(response.result_int()) +
                    R"(,"detail":"come back after the time of Retry-After"})";
  response.prepare_payload();
  return response;
}

}  // namespace

Admission Limiter::admit(const Request& request, std::string_view route, const boost::asio::ip::address& peer) {
  const std::string resource = std::string(request.method_string()) + ":" + std::string(route);
  const auto address = address_of(peer);
  const std::string source = address.to_string();  // the engine counts an IPv6 address by its /64 network
  const std::string network = network_of(address);
  const std::string_view user = request["x-user"];
  sluice::v1::Request asked{.resource = resource, .subject = user.empty() ? std::string_view(network) : user};
  asked.source_ip = source;
  asked.headers = true;

  const sluice::v1::Decision decision = engine_.check(asked);
  Admission admission;
  if (!decision.status.ok()) return admission;  // a fault of ours is no reason to turn a caller away
  admission.headers = decision.headers;
  if (!decision.allowed) admission.denied = denial(request, decision);
  admission.lease = engine_.lease(asked, decision);
  return admission;
}

void add_headers(Response& response, std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    lines.remove_prefix(std::min(lines.size(), line.size() + 2));
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) response.insert(line.substr(0, colon), line.substr(colon + 2));
  }
}

}  // namespace beast_server
