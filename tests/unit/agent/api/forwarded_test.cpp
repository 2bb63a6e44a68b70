// What is believed of a proxy, and how a route is made of what it says.
#include "agent/api/forwarded.hpp"

#include <doctest/doctest.h>

#include <string>

#include "common/base/utf8.hpp"
#include "common/domain/resource.hpp"

namespace sluice::agent::api {
namespace {

TrustedProxies trusting(std::string_view list) {
  auto proxies = parse_trusted_proxies(list);
  REQUIRE(proxies);
  return *std::move(proxies);
}

std::string client_of(std::string_view peer, std::string_view forwarded_for, std::string_view list) {
  const TrustedProxies proxies = trusting(list);
  const auto client = client_address(find_peer(peer, proxies), forwarded_for, proxies);
  if (!client) return "nobody";
  AddressText text;
  return std::string(write_block(block_of(*client, client->bits), text));
}

std::string route_of(std::string_view method, std::string_view path) {
  std::string out = "before ";
  const std::size_t began = out.size();
  const RouteRange range = append_route(method, path, out);
  CHECK(out.size() - began <= route_bound(method, path));
  CHECK(out.size() == range.at + range.size);
  CHECK(out.starts_with("before "));
  CHECK(out[range.at + range.method_size] == ':');
  return out.substr(range.at, range.size);
}

}  // namespace

TEST_CASE("The list of trusted proxies has addresses, networks and names for the machine itself") {
  const TrustedProxies proxies = trusting("loopback,unix,10.0.0.0/8,192.0.2.7,2001:db8::/32");
  for (const char* peer : {"", "127.0.0.1", "127.9.9.9", "::1", "10.255.0.1", "192.0.2.7", "2001:db8:1::9"}) {
    CAPTURE(peer);
    CHECK(find_peer(peer, proxies).trusted);
  }
  for (const char* peer : {"11.0.0.1", "192.0.2.8", "2001:db9::1", "::2", "not an address"}) {
    CAPTURE(peer);
    CHECK_FALSE(find_peer(peer, proxies).trusted);
  }
  CHECK_FALSE(find_peer("", trusting("loopback")).trusted);
  CHECK_FALSE(find_peer("127.0.0.1", trusting("unix")).trusted);
  CHECK_FALSE(find_peer("127.0.0.1", trusting("none")).trusted);
}

TEST_CASE("An entry that is no proxy is named, with the rule") {
  for (const char* list : {"", "loopback,", "10.0.0.0/33", "localhost", "10.0.0.1:80", "none,unix", "loopback unix"}) {
    CAPTURE(list);
    const auto proxies = parse_trusted_proxies(list);
    REQUIRE_FALSE(proxies);
    CHECK(proxies.error().find("must be a list of loopback, unix, addresses and networks") != std::string::npos);
  }
  CHECK(parse_trusted_proxies("loopback,localhost").error().find("\"localhost\"") != std::string::npos);
}

TEST_CASE("The client is the right-most address that is no trusted proxy") {
  CHECK(client_of("127.0.0.1", "203.0.113.9", "loopback") == "203.0.113.9");
  CHECK(client_of("127.0.0.1", "6.6.6.6, 203.0.113.9", "loopback") == "203.0.113.9");
  CHECK(client_of("127.0.0.1", "6.6.6.6,203.0.113.9 , 10.0.0.2,10.0.0.3", "loopback,10.0.0.0/8") == "203.0.113.9");
  CHECK(client_of("", "203.0.113.9", "unix") == "203.0.113.9");
  CHECK(client_of("127.0.0.1", "203.0.113.9:51234", "loopback") == "203.0.113.9");
  CHECK(client_of("127.0.0.1", "[2001:DB8::0:1]:443", "loopback") == "2001:db8::1");
  CHECK(client_of("127.0.0.1", "::ffff:203.0.113.9", "loopback") == "203.0.113.9");
}

TEST_CASE("X-Forwarded-For of an untrusted peer changes nothing") {
  CHECK(client_of("198.51.100.4", "203.0.113.9", "loopback") == "198.51.100.4");
  CHECK(client_of("127.0.0.1", "203.0.113.9", "none") == "127.0.0.1");
  CHECK(client_of("", "203.0.113.9", "loopback") == "nobody");
}

TEST_CASE("A chain of trusted proxies alone leads to its beginning") {
  CHECK(client_of("127.0.0.1", "", "loopback") == "127.0.0.1");
  CHECK(client_of("127.0.0.1", "10.0.0.9, 10.0.0.2", "loopback,10.0.0.0/8") == "10.0.0.9");
  CHECK(client_of("", "", "unix") == "nobody");
}

TEST_CASE("An entry that is no address ends the search at the proxy that wrote it") {
  CHECK(client_of("127.0.0.1", "203.0.113.9, unknown", "loopback") == "127.0.0.1");
  CHECK(client_of("127.0.0.1", "203.0.113.9, unknown, 10.0.0.2", "loopback,10.0.0.0/8") == "10.0.0.2");
  CHECK(client_of("127.0.0.1", "203.0.113.9,", "loopback") == "127.0.0.1");
  CHECK(client_of("127.0.0.1", ",", "loopback") == "127.0.0.1");
  CHECK(client_of("", "unknown", "unix") == "nobody");
}

TEST_CASE("A target is a path or a URL") {
  CHECK(split_target("/orders?page=2")->path == "/orders?page=2");
  CHECK(split_target("/orders")->host.empty());
  CHECK(split_target("*")->path == "*");
  CHECK(split_target("https://shop.example:8443/orders?a=b")->host == "shop.example:8443");
  CHECK(split_target("https://shop.example:8443/orders?a=b")->path == "/orders?a=b");
  CHECK(split_target("HTTP://shop.example")->path == "/");
  CHECK(split_target("http://shop.example?a=/b")->path == "/");
  for (const char* text : {"", "orders", "ftp://shop.example/", "http:///orders", "https://", "shop.example:443"}) {
    CAPTURE(text);
    CHECK_FALSE(split_target(text));
  }
}

TEST_CASE("A host is named without its port") {
  CHECK(host_without_port("shop.example:8443") == "shop.example");
  CHECK(host_without_port(" shop.example ") == "shop.example");
  CHECK(host_without_port("[2001:db8::1]:80") == "2001:db8::1");
  CHECK(host_without_port("[2001:db8::1") == "[2001:db8::1");
  CHECK(host_without_port("") == "");
}

TEST_CASE("A route has one spelling, whatever its method") {
  CHECK(route_of("GET", "/orders?page=2") == "GET:/orders");
  CHECK(route_of("get", "/a/../orders//%7e") == "GET:/orders/~");
  CHECK(route_of("PROPFIND", "/a/./%2e%2e/orders?x#y") == "PROPFIND:/orders");
  CHECK(route_of("P", "//") == "P:/");
  CHECK(route_of("OPTIONS", "*") == "OPTIONS:*");
  CHECK(route_of("A:B /", "/x") == "A_B__:/x");
  CHECK(route_of(std::string(100, 'M'), "/x") == std::string(32, 'M') + ":/x");
  for (const char* method : {"DELETE", "CONNECT"}) {
    const std::string route = route_of(method, "/a//b/../c%41");
    std::string again = route;
    CHECK(canonical_resource(again) == route);
  }
}

TEST_CASE("Bytes that no URL has are percent-encoded") {
  CHECK(route_of("GET", "/caf\xc3\xa9 \xff") == "GET:/caf%C3%A9%20%FF");
  CHECK(route_of("GET", std::string_view("/a\0b", 4)) == "GET:/a%00b");
}

TEST_CASE("A long path is cut, not refused") {
  const std::string path = "/" + std::string(5'000, 'a');
  CHECK(route_of("GET", path) == ("GET:" + path).substr(0, kMaxRoute));
  CHECK(route_of("GET", "/" + std::string(4'000, '\xff')).size() == kMaxRoute);
  std::string dots;
  for (int i = 0; i < 1'000; ++i) dots += "/x/..";
  CHECK(route_of("GET", dots + "/orders") == "GET:/orders");
}

}  // namespace sluice::agent::api
