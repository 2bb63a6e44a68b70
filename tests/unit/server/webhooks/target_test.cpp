#include "server/webhooks/target.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace sluice;
using namespace sluice::server::webhooks;

namespace {

AddressRules allowing(std::string_view block) { return AddressRules({*parse_cidr(block)}); }

std::string fault_of(std::string_view url, const AddressRules& rules = AddressRules()) {
  const auto target = parse_target(url, rules);
  return target ? "" : target.error().text;
}

}  // namespace

TEST_CASE("A public https URL is taken with its port, path and query") {
  const auto target = parse_target("https://hooks.example.com:8443/in?team=7", AddressRules());
  REQUIRE(target);
  CHECK(target->server.host == "hooks.example.com");
  CHECK(target->server.port == 8443);
  CHECK(target->server.transport == net::Address::Transport::tls);
  CHECK(target->path == "/in?team=7");
  CHECK(parse_target("https://example.com", AddressRules())->path == "/");
  CHECK(parse_target("https://example.com?a=1", AddressRules())->path == "/?a=1");
  CHECK(fault_of("https://8.8.8.8/x").empty());
  CHECK(fault_of("https://[2606:4700::1111]/x").empty());
}

TEST_CASE("No URL leads into the network of the server, however it is written") {
  for (const std::string_view url : {
           "https://127.0.0.1/",
           "https://127.1/",
           "https://2130706433/",
           "https://0x7f000001/",
           "https://0x7f.0.0.1/",
           "https://0177.0.0.1/",
           "https://017700000001/",
           "https://localhost/",
           "https://LOCALHOST/",
           "https://redis.localhost/",
           "https://localhost./",
           "https://127.0.0.1./",
           "https://0.0.0.0/",
           "https://0/",
           "https://10.0.0.1/",
           "https://172.16.0.1/",
           "https://172.31.255.255/",
           "https://192.168.1.1/",
           "https://169.254.169.254/latest/meta-data/",
           "https://168.63.129.16/",
           "https://100.64.0.1/",
           "https://100.100.100.200/",
           "https://192.0.0.192/",
           "https://198.18.0.1/",
           "https://224.0.0.1/",
           "https://255.255.255.255/",
           "https://[::1]/",
           "https://[::]/",
           "https://[::ffff:127.0.0.1]/",
           "https://[::ffff:7f00:1]/",
           "https://[::127.0.0.1]/",
           "https://[64:ff9b::7f00:1]/",
           "https://[64:ff9b::10.0.0.1]/",
           "https://[64:ff9b:1::1]/",
           "https://[2002:7f00:1::]/",
           "https://[2001::1]/",
           "https://[fe80::1]/",
           "https://[fe80::1%25eth0]/",
           "https://[fc00::1]/",
           "https://[fd00:ec2::254]/",
           "https://[ff02::1]/",
           "https://[2001:db8::1]/",
           "https://[fec0::1]/",
           "https://[::1",
           "https://[1::2::3]/",
       }) {
    CAPTURE(url);
    CHECK(fault_of(url) != "");
  }
}

TEST_CASE("URLs of other schemes, with users, fragments, odd characters or low ports are refused") {
  for (const std::string_view url : {
           "http://example.com/",
           "ftp://example.com/",
           "file:///etc/passwd",
           "gopher://example.com/",
           "unix:/run/x",
           "HTTPS://example.com/",
           "//example.com/",
           "example.com",
           "",
           "https://",
           "https:///x",
           "https://:443/",
           "https://user@example.com/",
           "https://user:secret@example.com/",
           "https://example.com@10.0.0.1/",
           "https://example.com#@10.0.0.1/",
           "https://example.com/#x",
           "https://example.com\\@10.0.0.1/",
           "https://exa mple.com/",
           "https://example.com/\r\nHost: x",
           "https://ex\xC3\xA4mple.com/",
           "https://%31%30.0.0.1/",
           "https://example.com:22/",
           "https://example.com:25/",
           "https://example.com:0/",
           "https://example.com:70000/",
           "https://example.com:443x/",
           "https://\xE2\x91\xA0.example.com/",
       }) {
    CAPTURE(url);
    CHECK(fault_of(url) != "");
  }
  CHECK(fault_of("https://example.com/" + std::string(kMaxUrlBytes, 'x')) != "");
  CHECK(fault_of("https://user:secret@example.com/").find("secret") == std::string::npos);
}

TEST_CASE("What the operator allows may be private and without encryption, and nothing else") {
  const AddressRules rules = allowing("10.20.0.0/16");
  CHECK(fault_of("https://10.20.3.4/", rules).empty());
  CHECK(fault_of("http://10.20.3.4:8080/in", rules).empty());
  CHECK(fault_of("http://hooks.internal/", rules).empty());  // its addresses are checked at the connect
  CHECK(fault_of("https://10.21.0.1/", rules) != "");
  CHECK(fault_of("http://8.8.8.8/", rules) != "");
  CHECK(fault_of("https://localhost/", rules) != "");
  CHECK(fault_of("https://localhost/", allowing("127.0.0.0/8")).empty());
  CHECK(fault_of("http://[::ffff:10.20.0.1]/", rules).empty());  // the same address in another form
}

TEST_CASE("An address that a name leads to is judged like one that stands in the URL") {
  const AddressRules rules = allowing("10.20.0.0/16");
  CHECK(rules.check(*parse_ip("8.8.8.8"), true));
  CHECK_FALSE(rules.check(*parse_ip("8.8.8.8"), false));
  CHECK(rules.check(*parse_ip("10.20.0.1"), false));
  CHECK(rules.check(*parse_ip("10.22.0.1"), true).error().code == "forbidden_address");
  CHECK_FALSE(rules.check(*parse_ip("::ffff:169.254.169.254"), true));
}
