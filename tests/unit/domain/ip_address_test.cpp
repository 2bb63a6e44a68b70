#include "common/domain/ip_address.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice;

namespace {

IpAddress address(std::string_view text) {
  const auto parsed = parse_ip(text);
  REQUIRE_MESSAGE(parsed, text);
  return *parsed;
}
IpBlock block(std::string_view text) {
  const auto parsed = parse_cidr(text);
  REQUIRE_MESSAGE(parsed, text);
  return *parsed;
}

}  // namespace

TEST_CASE("an IPv4 address is four bytes of 32 bits, an IPv6 address sixteen of 128") {
  CHECK(address("10.0.0.7") == IpAddress{.bits = 32, .bytes = {10, 0, 0, 7}});
  CHECK(address("255.255.255.255") == IpAddress{.bits = 32, .bytes = {255, 255, 255, 255}});
  CHECK(address("2001:db8::7") ==
        IpAddress{.bits = 128, .bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}});
}

TEST_CASE("every way to write an IPv6 address gives the same one") {
  for (const char* spelled :
       {"2001:DB8::7", "2001:0db8:0000:0000:0000:0000:0000:0007", "2001:db8:0:0:0::7", "2001:db8::0.0.0.7"}) {
    CAPTURE(spelled);
    CHECK(address(spelled) == address("2001:db8::7"));
  }
}

TEST_CASE("an IPv4-mapped address is the IPv4 address, others that end in one are not") {
  CHECK(address("::ffff:10.0.0.7") == address("10.0.0.7"));
  CHECK(address("::FFFF:A00:7") == address("10.0.0.7"));
  CHECK(address("::10.0.0.7").bits == 128);
  CHECK(address("::fffe:10.0.0.7").bits == 128);
  CHECK(address("1::ffff:10.0.0.7").bits == 128);
}

TEST_CASE("anything else is no address") {
  using namespace std::string_literals;
  for (const std::string& text : {""s,
                                  " "s,
                                  "10.0.0"s,
                                  "10.0.0.256"s,
                                  "10.0.0.7.8"s,
                                  "010.0.0.7"s,
                                  "10.0.0.7 "s,
                                  " 10.0.0.7"s,
                                  "10.0.0.7:80"s,
                                  "0x0a000007"s,
                                  "167772167"s,
                                  "10.0.0.7/32"s,
                                  "[::1]"s,
                                  ":::"s,
                                  "1::2::3"s,
                                  "fe80::1%eth0"s,
                                  "::fffff"s,
                                  "1:2:3:4:5:6:7"s,
                                  "1:2:3:4:5:6:7:8:9"s,
                                  "host"s,
                                  "10.0.0.7\0"s,
                                  "::1\0x"s,
                                  std::string(46, '1'),
                                  std::string(300, ':')}) {
    CAPTURE(text);
    CHECK_FALSE(parse_ip(text));
    CHECK_FALSE(parse_cidr(text + "/8"));
  }
}

TEST_CASE("a block drops the bits behind its length") {
  CHECK(block("10.1.2.3/8") == block("10.0.0.0/8"));
  CHECK(block("10.1.2.3/8").base == address("10.0.0.0"));
  CHECK(block("10.1.255.3/23").base == address("10.1.254.0"));
  CHECK(block("2001:db8:ffff::/33").base == address("2001:db8:8000::"));
  CHECK(block("255.255.255.255/0").base == address("0.0.0.0"));
  CHECK(block("10.1.2.3/32").base == address("10.1.2.3"));
}

TEST_CASE("the length of a block is a number from 0 to the bits of its address") {
  for (const char* good : {"10.0.0.0/0", "10.0.0.0/32", "::/0", "::/128"}) {
    CAPTURE(good);
    CHECK(parse_cidr(good));
  }
  for (const char* bad : {"10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/ 8",
                          "10.0.0.0/8 ", "10.0.0.0/8/8", "10.0.0.0/256", "10.0.0.0/264", "10.0.0.0/a", "/8", "10.0.0.0",
                          "10.0.0.0/255.0.0.0", "10.0.0.0/99999999999999999999"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_cidr(bad));
  }
}

TEST_CASE("a block of IPv4-mapped addresses is one of IPv4, a wider one is not") {
  CHECK(block("::ffff:10.0.0.0/104") == block("10.0.0.0/8"));
  CHECK(block("::ffff:0:0/96") == block("0.0.0.0/0"));
  CHECK(block("::ffff:0:0/95").base.bits == 128);
}

TEST_CASE("a block contains its first and last address, not their neighbours, and no address of the other family") {
  const IpBlock v4 = block("10.1.2.0/23");
  CHECK(v4.contains(address("10.1.2.0")));
  CHECK(v4.contains(address("10.1.3.255")));
  CHECK_FALSE(v4.contains(address("10.1.1.255")));
  CHECK_FALSE(v4.contains(address("10.1.4.0")));
  CHECK_FALSE(block("0.0.0.0/0").contains(address("::1")));
  CHECK_FALSE(block("::/0").contains(address("0.0.0.1")));
  CHECK(block("::/0").contains(address("ffff::")));
  CHECK(block("10.0.0.7/32").contains(address("10.0.0.7")));
  CHECK_FALSE(block("10.0.0.7/32").contains(address("10.0.0.6")));
}

TEST_CASE("an address is written in its shortest form, and a block of IPv6 with its prefix") {
  AddressText text;
  for (const char* same : {"0.0.0.0", "255.255.255.255", "10.0.0.7", "203.0.113.90", "2001:db8::7", "::"}) {
    CHECK(write_block(block_of(address(same), address(same).bits), text) == same);
  }
  CHECK(write_block(block_of(address("::ffff:10.0.0.7"), 32), text) == "10.0.0.7");
  CHECK(write_block(block("10.1.2.3/8"), text) == "10.0.0.0");
  CHECK(write_block(block("2001:DB8:0:0:1::7/64"), text) == "2001:db8::/64");
}

TEST_CASE("only the machine itself has a loopback address, also one that IPv6 holds") {
  for (const char* ours : {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"}) {
    CAPTURE(ours);
    CHECK(is_loopback(address(ours)));
  }
  for (const char* other :
       {"126.255.255.255", "128.0.0.0", "10.127.0.1", "::", "::2", "1::1", "7f00::", "::ffff:10.0.0.1"}) {
    CAPTURE(other);
    CHECK_FALSE(is_loopback(address(other)));
  }
}
