// The messages as bytes of Protobuf and as JSON.
#include <doctest/doctest.h>

#include <expected>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "agent/rls/json.hpp"
#include "agent/rls/wire.hpp"

namespace sluice::agent::rls {
namespace {

// A field of Protobuf with a short text or message.
std::string field(int number, std::string_view content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())}.append(content);
}
std::string number_field(int number, std::initializer_list<int> bytes) {
  std::string out{static_cast<char>(number << 3)};
  for (const int byte : bytes) out += static_cast<char>(byte);
  return out;
}
std::string entry(std::string_view key, std::string_view value) { return field(1, field(1, key) + field(2, value)); }

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

TEST_CASE("a request of Protobuf is read") {
  const std::string bytes = field(1, "shop") + field(2, entry("user", "ada") + entry("path", "/")) +
                            field(2, entry("k", "") + field(2, number_field(1, {0xac, 0x02}) + number_field(2, {7})) +
                                         field(3, number_field(1, {5})) + number_field(4, {1})) +
                            number_field(3, {9});
  const auto request = decode_request(bytes);
  REQUIRE(request);
  CHECK(request->domain == "shop");
  CHECK(request->hits_addend == 9);
  REQUIRE(request->descriptors.size() == 2);
  const Descriptor& first = request->descriptors[0];
  REQUIRE(first.entries.size() == 2);
  CHECK(first.entries[0].key == "user");
  CHECK(first.entries[0].value == "ada");
  CHECK(first.entries[1].key == "path");
  CHECK_FALSE(first.limit);
  CHECK_FALSE(first.hits_addend);
  CHECK_FALSE(first.is_negative_hits);
  const Descriptor& second = request->descriptors[1];
  CHECK(second.limit->requests_per_unit == 300);
  CHECK(second.limit->unit == 7);
  CHECK(second.hits_addend == 5);
  CHECK(second.is_negative_hits);
}

TEST_CASE("a request is read into the memory of a former one, and nothing else of it is left") {
  const std::string entries = entry("a", "1") + entry("b", "2") + entry("c", "3") + entry("d", "4");
  const std::string descriptor = field(2, entries + field(3, number_field(1, {5})) + number_field(4, {1}));
  const std::string long_one = field(1, "shop") + descriptor + descriptor + number_field(3, {9});
  auto former = decode_request(long_one);
  REQUIRE(former);
  const Descriptor* const memory = former->descriptors.data();
  const std::string short_one = field(2, entries);
  const auto request = decode_request(short_one, *std::move(former));
  REQUIRE(request);
  CHECK(request->domain.empty());
  CHECK(request->hits_addend == 0);
  REQUIRE(request->descriptors.size() == 1);
  CHECK(request->descriptors.data() == memory);
  const Descriptor& only = request->descriptors[0];
  CHECK(only.entries.size() == 4);
  CHECK_FALSE(only.hits_addend);
  CHECK_FALSE(only.is_negative_hits);
}

TEST_CASE("hits_addend of a descriptor may be there and 0") {
  const std::string bytes = field(2, field(3, ""));
  const auto request = decode_request(bytes);
  REQUIRE(request);
  CHECK(request->descriptors[0].hits_addend == 0);
}

TEST_CASE("unknown fields are skipped") {
  const std::string bytes = field(1, "d") + field(15, "new") + number_field(14, {1}) + field(2, field(9, "new"));
  const auto request = decode_request(bytes);
  REQUIRE(request);
  CHECK(request->domain == "d");
  CHECK(request->descriptors.size() == 1);
}

// Of one entry.
std::expected<rls_config::Entry, std::string> entry_of(std::string_view fields) {
  static std::string bytes;  // the entry points into it
  std::string length(1, static_cast<char>(fields.size()));
  if (fields.size() >= 128) {
    length = {static_cast<char>(fields.size() % 128 + 128), static_cast<char>(fields.size() / 128)};
  }
  const std::string entry_field = "\x0a" + length + std::string(fields);
  length = {static_cast<char>(entry_field.size() % 128 + 128), static_cast<char>(entry_field.size() / 128)};
  bytes = "\x12" + length + entry_field;
  auto request = decode_request(bytes);
  if (!request) return std::unexpected(request.error());
  return request->descriptors.at(0).entries.at(0);
}

TEST_CASE("an entry may have its fields in any order and more than once, or not at all") {
  const auto check = [](std::string_view fields, std::string_view key, std::string_view value) {
    CAPTURE(hex(fields));
    const auto read = entry_of(fields);
    REQUIRE(read);
    CHECK(read->key == key);
    CHECK(read->value == value);
  };
  check(field(1, "k") + field(2, "v"), "k", "v");
  check(field(1, "") + field(2, ""), "", "");
  check(field(2, "v") + field(1, "k"), "k", "v");
  check(field(1, "k"), "k", "");
  check(field(2, "v"), "", "v");
  check("", "", "");
  check(field(1, "old") + field(1, "k") + field(2, "v"), "k", "v");
  check(field(1, "k") + field(2, "old") + field(2, "v"), "k", "v");
  check(field(1, "k") + field(2, "v") + field(3, "new"), "k", "v");
  check(field(3, "new") + field(1, "k") + field(2, "v"), "k", "v");
  check(field(1, "k") + number_field(2, {5}) + field(2, "v"), "k", "v");
  check(field(1, "k\u00e4") + field(2, "\u20ac"), "k\u00e4", "\u20ac");
}

TEST_CASE("an entry's texts may be of any length") {
  for (const std::size_t size : {1U, 126U, 127U, 128U, 129U, 300U}) {
    CAPTURE(size);
    const std::string text(size, 'x');
    std::string length(1, static_cast<char>(size));
    if (size >= 128) length = {static_cast<char>(size % 128 + 128), static_cast<char>(size / 128)};
    const auto value = entry_of(field(1, "k") + "\x12" + length + text);
    REQUIRE(value);
    CHECK(value->key == "k");
    CHECK(value->value == text);
    const auto key = entry_of("\x0a" + length + text + field(2, "v"));
    REQUIRE(key);
    CHECK(key->key == text);
    CHECK(key->value == "v");
  }
}

TEST_CASE("an entry that is cut off or not UTF-8 is refused") {
  for (const std::string& fields :
       {field(1, "k\xff") + field(2, "v"), field(1, "k") + field(2, "v\xff"), field(2, "v\xff") + field(1, "k"),
        // A character that begins in the key and would end in the value.
        field(1, "\xc3") + field(2, "\xa4")}) {
    const auto read = entry_of(fields);
    CHECK_FALSE(read);
    CHECK(read.error().find("UTF-8") != std::string::npos);
  }
  for (const char* fields : {"\x0a", "\x0a\x01", "\x0a\x01k\x12", "\x0a\x01k\x12\x02v", "\x0a\x05k\x12\x01v"}) {
    CHECK_FALSE(entry_of(fields));
  }
}

TEST_CASE("a message may end within any field") {
  const std::string whole =
      field(1, "d") + field(2, entry("k", "v") + field(2, number_field(1, {5}) + number_field(2, {3})) +
                                   field(3, number_field(1, {5})) + number_field(4, {0x80, 0x80, 0x01}));
  CHECK(decode_request(whole)->descriptors[0].is_negative_hits);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));  // of no more memory
    const auto request = decode_request({cut.data(), cut.size()});
    CHECK((request || !request.error().empty()));
  }
  const std::string ends_in_flag = field(2, std::string{static_cast<char>(4 << 3)});
  const std::vector<char> exact(ends_in_flag.begin(), ends_in_flag.end());
  CHECK_FALSE(decode_request({exact.data(), exact.size()}));
}

TEST_CASE("bytes that are no request are refused with a sentence") {
  CHECK_FALSE(decode_request("\x0a\x7f"));
  CHECK_FALSE(decode_request("\xff\xff\xff"));
  CHECK(decode_request(field(1, "\xff")).error().find("UTF-8") != std::string::npos);
  std::string many;
  for (std::size_t i = 0; i < kMaxDescriptors; ++i) many += field(2, "");
  CHECK(decode_request(many));
  CHECK(decode_request(many + field(2, "")).error().find("at most 100 descriptors") != std::string::npos);
  std::string deep;
  for (std::size_t i = 0; i <= kMaxEntries; ++i) deep += field(1, "");
  CHECK(decode_request(field(2, deep)).error().find("at most 32 entries") != std::string::npos);
}

Response a_response() {
  Response response;
  response.code = Code::over_limit;
  response.statuses.push_back(
      {.code = Code::over_limit,
       .limit = CurrentLimit{.name = "n", .requests_per_unit = 300, .unit = rls_config::Unit::minute},
       .remaining = 0,
       .reset_seconds = 42});
  response.statuses.push_back({.code = Code::ok, .limit = std::nullopt, .remaining = 5, .reset_seconds = 0});
  response.headers.push_back({"RateLimit-Limit", "300"});
  return response;
}

TEST_CASE("a response is written as Protobuf") {
  std::string bytes;
  encode_response(a_response(), bytes);
  // 1: OVER_LIMIT; 2: {1: OVER_LIMIT, 2: {1: 300, 2: MINUTE, 3: "n"}, 4: {1: 42}}; 2: {1: OK, 3: 5}; 3: {1: …, 2: …}
  CHECK(hex(bytes) ==
        "0802"
        "1210"
        "0802"
        "1208"
        "08ac02"
        "1002"
        "1a016e"
        "2202"
        "082a"
        "1204"
        "0801"
        "1805"
        "1a16"
        "0a0f526174654c696d69742d4c696d6974"
        "1203333030");
}

TEST_CASE("a status has a limit's name of any length") {
  const auto varint = [](std::size_t number) {
    std::string out;
    for (; number >= 128; number /= 128) out += static_cast<char>(number % 128 + 128);
    return out += static_cast<char>(number);
  };
  for (const std::size_t size : {1U, 63U, 64U, 65U, 127U, 128U, 300U}) {
    CAPTURE(size);
    const std::string name(size, 'n');
    Response response;
    response.statuses.push_back({.code = Code::ok,
                                 .limit = CurrentLimit{.name = name,
                                                       .requests_per_unit = std::numeric_limits<std::uint32_t>::max(),
                                                       .unit = rls_config::Unit::week},
                                 .remaining = std::numeric_limits<std::uint32_t>::max(),
                                 .reset_seconds = 604'800});
    std::string bytes;
    encode_response(response, bytes);
    const std::string limit = "\x08\xff\xff\xff\xff\x0f\x10\x07\x1a" + varint(size) + name;
    const std::string status =
        "\x08\x01\x12" + varint(limit.size()) + limit + "\x18\xff\xff\xff\xff\x0f\x22\x04\x08\x80\xf5\x24";
    CHECK(bytes == "\x08\x01\x12" + varint(status.size()) + status);
  }
}

TEST_CASE("metadata are written as a google.protobuf.Struct") {
  Response response;
  response.metadata = R"({"a":true,"b":[1,"x"],"c":{"d":null}})";
  std::string bytes;
  encode_response(response, bytes);
  CHECK(hex(bytes) ==
        "0801"
        "3234"
        "0a070a016112022001"                                  // a: true
        "0a170a0162121232100a0911000000000000f03f0a031a0178"  // b: [1, "x"]
        "0a100a0163120b2a090a070a016412020800");
}

TEST_CASE("a response is written as JSON, without defaults") {
  std::string text;
  write_response(a_response(), text);
  CHECK(text == R"({"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT","currentLimit":{"requestsPerUnit":300,)"
                R"("unit":"MINUTE","name":"n"},"durationUntilReset":"42s"},{"code":"OK","limitRemaining":5}],)"
                R"("responseHeadersToAdd":[{"key":"RateLimit-Limit","value":"300"}]})");
}

std::string faults_of(std::string_view text) {
  json::Tree tree;
  const auto request = read_request(text, tree);
  REQUIRE_FALSE(request);
  std::string said;
  for (const Fault& fault : request.error())
    said += fmt::format("{}:{} {}: {}\n", fault.line, fault.column, fault.pointer, fault.text);
  return said;
}

TEST_CASE("a request is read from JSON, in both spellings") {
  for (const std::string_view text :
       {R"({"domain":"d","hitsAddend":3,"descriptors":[{"entries":[{"key":"k","value":"v"}],"hitsAddend":"0",)"
        R"("limit":{"requestsPerUnit":5,"unit":"WEEK"},"isNegativeHits":true}]})",
        R"({"domain":"d","hits_addend":"3","descriptors":[{"entries":[{"key":"k","value":"v"}],"hits_addend":0,)"
        R"("limit":{"requests_per_unit":"5","unit":7},"is_negative_hits":true}]})"}) {
    json::Tree tree;
    const auto request = read_request(text, tree);
    REQUIRE(request);
    CHECK(request->domain == "d");
    CHECK(request->hits_addend == 3);
    const Descriptor& descriptor = request->descriptors.at(0);
    CHECK(descriptor.entries.at(0).key == "k");
    CHECK(descriptor.entries.at(0).value == "v");
    CHECK(descriptor.hits_addend == 0);
    CHECK(descriptor.limit->requests_per_unit == 5);
    CHECK(descriptor.limit->unit == 7);
    CHECK(descriptor.is_negative_hits);
  }
}

TEST_CASE("absent and null fields have their defaults") {
  json::Tree tree;
  const auto request =
      read_request(R"({"descriptors":[{"entries":[{"key":"k"}],"hitsAddend":null,"limit":null}]})", tree);
  REQUIRE(request);
  CHECK(request->domain.empty());
  CHECK(request->hits_addend == 0);
  CHECK_FALSE(request->descriptors[0].hits_addend);
  CHECK_FALSE(request->descriptors[0].limit);
}

TEST_CASE("JSON that is no request is refused with its place") {
  CHECK(faults_of("{").find("1:2") == 0);
  CHECK(faults_of("[]").find("1:1") == 0);
  CHECK(faults_of("{\"domain\":\"d\",\n\"descriptor\":[]}")
            .find("2:14 /descriptor: \"descriptor\" is not a field of this "
                  "object: did you mean \"descriptors\"?") == 0);
  CHECK(faults_of(R"({"hitsAddend":-1})").find("/hitsAddend: hitsAddend must be a whole number from 0") !=
        std::string::npos);
  CHECK(faults_of(R"({"hits_addend":4294967296})").find("/hits_addend") != std::string::npos);
  CHECK(faults_of(R"({"descriptors":{}})").find("a list") != std::string::npos);
  CHECK(faults_of(R"({"descriptors":[{"limit":{"unit":"FORTNIGHT"}}]})").find("/descriptors/0/limit/unit") !=
        std::string::npos);
  CHECK(faults_of(R"({"descriptors":[{"entries":[{"key":5}]}]})").find("/descriptors/0/entries/0/key") !=
        std::string::npos);
  std::string many = R"({"descriptors":[)";
  for (std::size_t i = 0; i < kMaxDescriptors; ++i) many += "{},";
  CHECK(faults_of(many + "{}]}").find("/descriptors/100: a request has at most 100 descriptors") != std::string::npos);
}

}  // namespace
}  // namespace sluice::agent::rls
