#include "common/http/address.hpp"

#include <doctest/doctest.h>

namespace sluice::http {
namespace {

TEST_CASE("a client has one text: numeric, without port, zone or IPv4 in IPv6") {
  const auto text_of = [](const char* address) { return peer_text(boost::asio::ip::make_address(address)); };
  CHECK(text_of("10.0.0.7") == "10.0.0.7");
  CHECK(text_of("2001:DB8::0:1") == "2001:db8::1");
  CHECK(text_of("::ffff:10.0.0.7") == "10.0.0.7");
  CHECK(text_of("fe80::1%1") == "fe80::1");
  CHECK(text_of("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff") == "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

}  // namespace
}  // namespace sluice::http
