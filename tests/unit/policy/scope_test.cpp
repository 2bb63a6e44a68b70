// What a request must say for a policy to be about it, as the index and the scope see it together.
#include "common/policy/scope.hpp"

#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

bool about(const std::string& scope, const std::string& request) {
  return winner(policies({policy("a", scope)}), request) == "a";
}
// Whether a scope's source_ip (a value or a list of them, in JSON) holds an address.
bool holds(const std::string& sources, const std::string& address) {
  return about(R"({"source_ip":)" + sources + "}", R"({"source_ip":")" + address + "\"}");
}

TEST_CASE("a policy applies where every dimension of its scope has one of its values") {
  const std::string scope = R"({"resource":["GET:/a","GET:/b"],"method":"GET","tag.env":"prod"})";
  CHECK(about(scope, R"({"resource":"GET:/a","method":"GET","tags":{"env":"prod"}})"));
  CHECK(about(scope, R"({"resource":"GET:/b","method":"GET","tags":{"env":"prod"}})"));
  CHECK_FALSE(about(scope, R"({"resource":"GET:/c","method":"GET","tags":{"env":"prod"}})"));
  CHECK_FALSE(about(scope, R"({"resource":"GET:/a","method":"PUT","tags":{"env":"prod"}})"));
  CHECK_FALSE(about(scope, R"({"resource":"GET:/a","method":"GET","tags":{"env":"test"}})"));
  CHECK_FALSE(about(scope, R"({"resource":"GET:/a","tags":{"env":"prod"}})"));
  CHECK_FALSE(about(scope, R"({"resource":"GET:/a","method":"GET"})"));
}

TEST_CASE("a policy without a scope applies to every request") {
  CHECK(about("{}", R"({"resource":"x"})"));
  CHECK(about("{}", R"({"tags":{"a":"b"}})"));
}

TEST_CASE("an exact value matches itself alone: neither its beginning nor what is longer, in its letters") {
  CHECK(about(R"({"resource":"GET:/a"})", R"({"resource":"GET:/a"})"));
  for (const char* other : {"GET:/", "GET:/a/", "GET:/ab", "", "GET:/a*"}) {
    CAPTURE(other);
    CHECK_FALSE(about(R"({"resource":"GET:/a"})", R"({"resource":")" + std::string(other) + "\"}"));
  }
}

TEST_CASE("a prefix matches itself and what is longer") {
  const std::string scope = R"({"resource":"GET:/a*"})";
  for (const char* inside : {"GET:/a", "GET:/a/b", "GET:/ab", "GET:/a*"}) {
    CAPTURE(inside);
    CHECK(about(scope, R"({"resource":")" + std::string(inside) + "\"}"));
  }
  for (const char* outside : {"GET:/", "GET:/b", "", "XGET:/a"}) {
    CAPTURE(outside);
    CHECK_FALSE(about(scope, R"({"resource":")" + std::string(outside) + "\"}"));
  }
}

TEST_CASE("only the last star makes a prefix") {
  CHECK(about(R"({"resource":"a*b"})", R"({"resource":"a*b"})"));
  CHECK_FALSE(about(R"({"resource":"a*b"})", R"({"resource":"axb"})"));
  CHECK(about(R"({"resource":"a**"})", R"({"resource":"a*x"})"));
  CHECK_FALSE(about(R"({"resource":"a**"})", R"({"resource":"ax"})"));
}

TEST_CASE("a list holds exact values and prefixes side by side, and one that covers another") {
  const std::string scope = R"({"resource":["a","b*","ba","bab*","d*","c"]})";
  for (const char* inside : {"a", "b", "ba", "bab", "bz", "c", "d", "dz"}) {
    CAPTURE(inside);
    CHECK(about(scope, R"({"resource":")" + std::string(inside) + "\"}"));
  }
  for (const char* outside : {"aa", "ca", "e", "", "B"}) {
    CAPTURE(outside);
    CHECK_FALSE(about(scope, R"({"resource":")" + std::string(outside) + "\"}"));
  }
}

TEST_CASE("a lone star matches any value that is there") {
  CHECK(about(R"({"region":"*"})", R"({"region":"eu"})"));
  CHECK_FALSE(about(R"({"region":"*"})", R"({"region":""})"));
  CHECK(about(R"({"region":["eu","*"]})", R"({"region":"us"})"));
  CHECK_FALSE(about(R"({"region":"*"})", R"({"resource":"r"})"));
}

TEST_CASE("an empty dimension is an absent one, so an empty value of a scope matches nothing") {
  CHECK_FALSE(about(R"({"region":""})", R"({"region":""})"));
  CHECK_FALSE(about(R"({"region":""})", R"({"resource":"r"})"));
  CHECK_FALSE(about(R"({"tag.env":""})", R"({"tags":{"env":""}})"));
  CHECK_FALSE(about(R"({"tag.env":""})", R"({"tags":{"other":""}})"));
  CHECK_FALSE(about(R"({"region":""})", R"({"region":"x"})"));
}

TEST_CASE("values are bytes: any UTF-8 and control characters match themselves") {
  CHECK(about(R"({"subject":"é€"})", R"({"subject":"\u00e9\u20ac"})"));
  CHECK(about(R"({"subject":"é*"})", R"({"subject":"\u00e9x"})"));
  CHECK(about(R"({"subject":"a\u0000b"})", R"({"subject":"a\u0000b"})"));
  CHECK_FALSE(about(R"({"subject":"a\u0000b"})", R"({"subject":"a"})"));
}

TEST_CASE("tags and attributes are told apart by any name, and from each other") {
  const std::string scope = R"({"tag.a.b":"1","tag.=|%}":"2","attr.http.route":"3"})";
  CHECK(about(scope, R"({"tags":{"a.b":"1","=|%}":"2"},"attributes":{"http.route":"3"}})"));
  CHECK_FALSE(about(scope, R"({"tags":{"a.b":"1","=|%}":"2","http.route":"3"}})"));
  CHECK_FALSE(about(scope, R"({"tags":{"a.b":"2","=|%}":"1"},"attributes":{"http.route":"3"}})"));
  CHECK(about(R"({"attr.http.route":"3"})", R"({"attributes":{"http.route":"3"}})"));
  CHECK_FALSE(about(R"({"attr.http.route":"3"})", R"({"tags":{"http.route":"3"}})"));
  CHECK_FALSE(about(R"({"tag.A":"1"})", R"({"tags":{"a":"1"}})"));
  CHECK_FALSE(about(R"({"tag.region":"eu"})", R"({"region":"eu"})"));
}

TEST_CASE("org, tenant and api_key are what the agent knows of the caller") {
  CHECK(about(R"({"org":"acme","tenant":"shop","api_key":"k1"})", R"({"resource":"r"})"));
  CHECK_FALSE(about(R"({"org":"other"})", R"({"resource":"r"})"));
  CHECK_FALSE(about(R"({"tenant":"rival"})", R"({"resource":"r"})"));
  CHECK_FALSE(about(R"({"api_key":"k2"})", R"({"resource":"r"})"));
}

TEST_CASE("a CIDR block holds its first and last address and neither neighbour") {
  CHECK(holds(R"("10.1.2.0/23")", "10.1.2.0"));
  CHECK(holds(R"("10.1.2.0/23")", "10.1.3.255"));
  CHECK_FALSE(holds(R"("10.1.2.0/23")", "10.1.1.255"));
  CHECK_FALSE(holds(R"("10.1.2.0/23")", "10.1.4.0"));
  CHECK(holds(R"("2001:db8:0:8::/61")", "2001:db8:0:8::"));
  CHECK(holds(R"("2001:db8:0:8::/61")", "2001:db8:0:f:ffff:ffff:ffff:ffff"));
  CHECK_FALSE(holds(R"("2001:db8:0:8::/61")", "2001:db8:0:7:ffff:ffff:ffff:ffff"));
  CHECK_FALSE(holds(R"("2001:db8:0:8::/61")", "2001:db8:0:10::"));
}

TEST_CASE("bits behind the length of a block do not count") {
  CHECK(holds(R"("10.1.2.3/8")", "10.200.0.1"));
  CHECK(holds(R"("2001:db8::7/32")", "2001:db8:ffff::"));
}

TEST_CASE("a block of length 0 holds every address of its family, one of full length a single one") {
  CHECK(holds(R"("0.0.0.0/0")", "203.0.113.9"));
  CHECK_FALSE(holds(R"("0.0.0.0/0")", "2001:db8::1"));
  CHECK(holds(R"("::/0")", "2001:db8::1"));
  CHECK_FALSE(holds(R"("::/0")", "203.0.113.9"));
  CHECK(holds(R"("10.0.0.7/32")", "10.0.0.7"));
  CHECK_FALSE(holds(R"("10.0.0.7/32")", "10.0.0.6"));
  CHECK(holds(R"("2001:db8::7/128")", "2001:db8::7"));
  CHECK_FALSE(holds(R"("2001:db8::7/128")", "2001:db8::6"));
}

TEST_CASE("an IPv4-mapped address is the IPv4 address, in the scope and in the request") {
  CHECK(holds(R"("10.0.0.0/8")", "::ffff:10.0.0.7"));
  CHECK(holds(R"("10.0.0.7")", "::FFFF:a00:7"));
  CHECK(holds(R"("::ffff:10.0.0.7")", "10.0.0.7"));
  CHECK(holds(R"("::ffff:10.0.0.0/104")", "10.9.9.9"));
  CHECK_FALSE(holds(R"("::ffff:10.0.0.0/104")", "11.0.0.0"));
  CHECK_FALSE(holds(R"("::/0")", "::ffff:10.0.0.7"));
}

TEST_CASE("an IPv6 address matches however it is written") {
  for (const char* spelled :
       {"2001:db8::7", "2001:DB8::7", "2001:0db8:0:0:0:0:0:7", "2001:db8:0::0:7", "2001:db8::0.0.0.7"}) {
    CAPTURE(spelled);
    CHECK(holds(R"("2001:db8::7")", spelled));
    CHECK(holds('"' + std::string(spelled) + '"', "2001:db8::7"));
    CHECK(holds(R"("2001:db8::/64")", spelled));
  }
}

TEST_CASE("an empty source_ip is in no block, and a port counts for none") {
  CHECK_FALSE(holds(R"(["0.0.0.0/0","::/0","10.0.0.7"])", ""));
  CHECK(holds(R"("10.0.0.7")", "10.0.0.7:443"));
  CHECK(holds(R"("2001:db8::/64")", "[2001:db8::7]:443"));
}

TEST_CASE("a prefix matches the text of an address as it was sent") {
  CHECK(holds(R"("10.0.0.*")", "10.0.0.7:443"));
  CHECK_FALSE(holds(R"("10.0.0.*")", "::ffff:10.0.0.7"));
}

TEST_CASE("a list of addresses, blocks of both families and prefixes holds what any of them holds") {
  const std::string list =
      R"(["10.0.0.0/8","10.1.0.0/16","10.1.2.3","192.0.2.1","192.0.2.4/30","2001:db8::/32","2001:db8:1::/48","172.16.*"])";
  for (const char* inside : {"10.1.2.3", "10.1.9.9", "10.255.0.0", "192.0.2.1", "192.0.2.7", "2001:db8:1::9",
                             "2001:db8:2::9", "172.16.4.4"}) {
    CAPTURE(inside);
    CHECK(holds(list, inside));
  }
  for (const char* outside : {"11.0.0.0", "192.0.2.0", "192.0.2.2", "192.0.2.8", "2001:db9::", "172.17.0.1"}) {
    CAPTURE(outside);
    CHECK_FALSE(holds(list, outside));
  }
}

TEST_CASE("a term keeps of its values what no other covers") {
  const ScopeTerm source{{Dimension::source_ip, ""}, {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "10.*", "10.2*"}};
  const Scope scope = compile_scope({&source, 1});
  REQUIRE(scope.size() == 1);
  CHECK(scope[0].blocks == std::vector<IpBlock>{*parse_cidr("10.0.0.0/8")});
  CHECK(scope[0].prefixes == std::vector<std::string>{"10."});
  CHECK(scope[0].exact.empty());
  CHECK((scope[0].narrowness >> kNarrownessShift) == 3);
}

}  // namespace
}  // namespace sluice::policy
