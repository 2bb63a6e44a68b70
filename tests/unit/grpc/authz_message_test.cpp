// The messages of Envoy's external authorization, and the check that one becomes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "agent/grpc/authz_check.hpp"
#include "agent/grpc/authz_message.hpp"
#include "common/domain/credential.hpp"

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::rpc;
using protozero::pbf_reader;
using protozero::pbf_writer;

namespace {

// A CheckRequest, as Envoy writes it.
struct Asked {
  std::string method = "GET";
  std::string path = "/orders?page=2";
  std::string host = "Shop.example:8080";
  std::string source = "203.0.113.9";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::vector<std::pair<std::string, std::string>> extensions = {};
  bool raw = false;  // headers in header_map

  std::string bytes() const {
    std::string out;
    pbf_writer request(out);
    pbf_writer attributes(request, 1);
    if (!source.empty()) {
      pbf_writer peer(attributes, 1);
      pbf_writer address(peer, 1);
      pbf_writer socket(address, 1);
      socket.add_string(2, source);
      socket.add_uint32(3, 4711);
    }
    write_http(attributes);
    for (const auto& [name, text] : extensions) write_named(attributes, 10, name, text, 2);
    return out;
  }

 private:
  void write_http(pbf_writer& attributes) const {
    pbf_writer outer(attributes, 4);
    pbf_writer http(outer, 2);
    http.add_string(2, method);
    if (!raw) {
      for (const auto& [name, text] : headers) write_named(http, 3, name, text, 2);
    }
    http.add_string(4, path);
    http.add_string(5, host);
    if (!raw) return;
    pbf_writer map(http, 13);
    for (const auto& [name, text] : headers) write_named(map, 1, name, text, 3);
  }
  static void write_named(pbf_writer& parent, std::uint32_t field, const std::string& name, const std::string& text,
                          std::uint32_t text_field) {
    pbf_writer entry(parent, field);
    entry.add_string(1, name);
    entry.add_string(text_field, text);
  }
};

struct Reading {
  explicit Reading(const char* map = "", const char* proxies = "127.0.0.1,10.0.0.0/8")
      : options{.proxies = *api::parse_trusted_proxies(proxies), .map = *api::parse_authz_map(map)} {}

  void read(const Asked& asked, std::string_view caller = "127.0.0.1") {
    bytes = asked.bytes();
    REQUIRE(read_authz_message(bytes, message));
    read_authz_check(options, api::find_peer(caller, options.proxies), message, text, check);
  }
  std::string field(const char* dimension) const {
    const Value* value = check.find(*parse_dimension(dimension));
    return value == nullptr ? "absent" : std::string(value->text);
  }

  api::AuthzOptions options;
  std::string bytes;
  AuthzMessage message;
  std::string text;
  CheckRequest check;
};

// What a HeaderValueOption says: "name: value", and its action.
std::string header_of(pbf_reader option) {
  std::string out;
  std::int32_t action = 0;
  while (option.next()) {
    if (option.tag() == 1) {
      pbf_reader header = option.get_message();
      for (const char* separator = ""; header.next(); separator = ": ")
        out.append(separator).append(header.get_string());
    } else {
      action = option.get_enum();
    }
  }
  return out + " (" + std::to_string(action) + ")";
}

// The fields of a message with this number, in order.
std::vector<std::string> fields_of(std::string_view bytes, std::uint32_t number) {
  std::vector<std::string> found;
  pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    if (reader.tag() == number && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      found.push_back(reader.get_string());
    } else {
      reader.skip();
    }
  }
  return found;
}

std::vector<std::string> headers_of(std::string_view bytes, std::uint32_t number) {
  std::vector<std::string> found;
  for (const std::string& option : fields_of(bytes, number)) found.push_back(header_of(pbf_reader(option)));
  return found;
}

// The members of a google.protobuf.Struct, as "name=value ".
std::string members_of(std::string_view bytes) {
  std::string out;
  for (const std::string& member : fields_of(bytes, 1)) {
    out += fields_of(member, 1).at(0) + "=";
    const std::string value_bytes = fields_of(member, 2).at(0);
    for (pbf_reader value(value_bytes); value.next();) {
      if (value.tag() == 2) out += std::to_string(static_cast<std::int64_t>(value.get_double()));
      if (value.tag() == 3) out += value.get_string();
      if (value.tag() == 4) out += value.get_bool() ? "true" : "false";
      if (value.tag() == 5) out += "{" + members_of(value.get_string()) + "}";
    }
    out += " ";
  }
  return out;
}

// What write_decision_headers() writes, as header_of() has it.
std::vector<std::string> lines_of(const Decision& decision, HeaderFamilies families) {
  std::string lines;
  write_decision_headers(decision, families, lines);
  std::vector<std::string> found;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find("\r\n", at);
    found.push_back(lines.substr(at, end - at) + " (2)");
    at = end + 2;
  }
  return found;
}

void check_headers(const Decision& decision, HeaderFamilies families) {
  std::string bytes;
  write_authz_allowed(decision, families, {}, bytes);
  const std::string ok = fields_of(bytes, 3).at(0);
  const std::vector<std::string> lines = lines_of(decision, families);
  CHECK(headers_of(ok, 2) == lines);
  CHECK(headers_of(ok, 6) == lines);
  for (const std::string& removed : fields_of(ok, 5)) {
    CHECK(std::ranges::none_of(lines, [&](const std::string& line) { return line.starts_with(removed + ": "); }));
  }
  CHECK(fields_of(bytes, 4).size() == 1);
}

bool is_one_of(const std::vector<std::string>& all, const char* text) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

Decision decision_with_limit() {
  Decision decision;
  decision.now_us = 1'000'000;
  decision.has_limit = true;
  decision.report = {.admitted = true, .limit = 10, .remaining = 7, .reset_after_us = 2'000'000};
  decision.limit_name = "burst";
  decision.policy_id = "orders";
  decision.plan_id = "two";
  return decision;
}

}  // namespace

TEST_CASE("What Envoy tells becomes the dimensions of a check") {
  Reading reading;
  reading.read({});
  CHECK(reading.field("resource") == "GET:/orders");
  CHECK(reading.field("method") == "GET");
  CHECK(reading.field("endpoint") == "/orders");
  CHECK(reading.field("service") == "shop.example");
  CHECK(reading.field("source_ip") == "203.0.113.9");
  CHECK(reading.field("subject") == "203.0.113.9");
}

TEST_CASE("X-Forwarded-For counts only of a trusted peer of Envoy") {
  Reading reading;
  reading.read({.headers = {{"x-forwarded-for", "6.6.6.6"}}});
  CHECK(reading.field("source_ip") == "203.0.113.9");
  reading.read({.source = "10.0.0.7", .headers = {{"x-forwarded-for", "6.6.6.6, 198.51.100.1, 10.0.0.8"}}});
  CHECK(reading.field("source_ip") == "198.51.100.1");
  reading.read({.source = "10.0.0.7"});
  CHECK(reading.field("source_ip") == "10.0.0.7");
  reading.read({.source = "no address", .headers = {{"x-forwarded-for", "6.6.6.6"}}});
  CHECK(reading.field("source_ip") == "absent");
  // A Unix socket is believed where --trusted-proxies has `unix`.
  reading.read({.source = "", .headers = {{"x-forwarded-for", "6.6.6.6"}}});
  CHECK(reading.field("source_ip") == "absent");
  Reading with_unix("", "127.0.0.1,unix");
  with_unix.read({.source = "", .headers = {{"x-forwarded-for", "6.6.6.6"}}});
  CHECK(with_unix.field("source_ip") == "6.6.6.6");
}

TEST_CASE("Of a caller that is not trusted, only the request itself counts") {
  Reading reading("x-user-id=subject,x-plan=plan_id");
  reading.read({.source = "203.0.113.9",
                .headers = {{"x-forwarded-for", "6.6.6.6"}, {"x-user-id", "user:1"}},
                .extensions = {{"x-plan", "gold"}}},
               "198.51.100.4");
  CHECK(reading.field("resource") == "GET:/orders");
  CHECK(reading.field("source_ip") == "198.51.100.4");
  CHECK(reading.field("subject") == "198.51.100.4");
  CHECK(reading.check.plan_id.empty());
}

TEST_CASE("Mappings take context_extensions before headers, which a client can invent") {
  Reading reading("x-user-id=subject,x-plan=plan_id,x-team=tag.team");
  reading.read({.headers = {{"x-user-id", "user:1"}, {"x-plan", "invented"}}, .extensions = {{"x-plan", "gold"}}});
  CHECK(reading.field("subject") == "user:1");
  CHECK(reading.check.plan_id == "gold");
  CHECK(reading.field("tag.team") == "absent");
}

TEST_CASE("Headers are read from header_map too, and repeated ones are one list") {
  Reading reading("x-user-id=subject");
  reading.read(
      {.source = "10.0.0.7",
       .headers = {{"x-forwarded-for", "6.6.6.6"}, {"x-user-id", "user:2"}, {"x-forwarded-for", "198.51.100.1"}},
       .raw = true});
  CHECK(reading.field("source_ip") == "198.51.100.1");
  CHECK(reading.field("subject") == "user:2");
  CHECK(reading.message.header("x-forwarded-for") == "6.6.6.6, 198.51.100.1");
  CHECK(reading.message.header("absent").empty());
}

TEST_CASE("An entry of headers is read however it is written") {
  const std::string long_text(300, 'v');
  struct Row {
    std::string entry;
    std::string_view expected;
  };
  const Row rows[] = {{std::string("\x0a\x01n\x12\x01v"), "v"},
                      {std::string("\x12\x01v\x0a\x01n"), "v"},
                      {std::string("\x0a\x01n\x1a\x01v"), "v"},  // raw_value
                      {std::string("\x0a\x01n\x12\x81\x00v", 7), "v"},
                      // As long as with a text of 0x81 bytes.
                      {std::string("\x0a\x01n\x12\x81\x00v\x2a\x7d", 9) + std::string(125, 'u'), "v"},
                      {std::string("\x0a\x01n\x12\x00", 5), ""},
                      {std::string("\x0a\x01n"), ""},
                      {std::string("\x0a\x81\x00n\x12\x01v", 7), "v"},  // a longer varint than needed
                      {std::string("\x0a\x01n\x12\x01v\x12\x01w"), "w"},
                      {std::string("\x0a\x01n\x12\xac\x02") + long_text, long_text}};
  for (const Row& row : rows) {
    CAPTURE(row.entry);
    std::string bytes;
    {
      pbf_writer request(bytes);
      pbf_writer attributes(request, 1);
      pbf_writer outer(attributes, 4);
      pbf_writer http(outer, 2);
      http.add_message(3, row.entry);
    }
    AuthzMessage message;
    REQUIRE(read_authz_message(bytes, message));
    REQUIRE(message.headers.size() == 1);
    CHECK(message.headers[0].name == "n");
    CHECK(message.header("n") == row.expected);
  }
}

TEST_CASE("Whatever a client chooses is decided") {
  Reading reading("x-user-id=subject");
  reading.read({.method = "CONNECT", .path = "", .host = "far.example:443"});
  CHECK(reading.field("resource") == "CONNECT:/");
  reading.read({.method = "OPTIONS", .path = "*"});
  CHECK(reading.field("resource") == "OPTIONS:*");
  reading.read({.path = "http://Other.example/a/../orders"});
  CHECK(reading.field("resource") == "GET:/orders");
  CHECK(reading.field("service") == "other.example");
  reading.read({.path = "/\xFF/" + std::string(60'000, 'a'), .headers = {{"x-user-id", std::string("\xFF", 1)}}});
  CHECK(reading.field("endpoint").starts_with("/%FF/aaa"));
  CHECK(reading.field("subject").starts_with("sha256:"));
}

TEST_CASE("A message about a connection has only its client") {
  std::string bytes;
  {
    pbf_writer request(bytes);
    pbf_writer attributes(request, 1);
    pbf_writer peer(attributes, 1);
    pbf_writer address(peer, 1);
    pbf_writer socket(address, 1);
    socket.add_string(2, "203.0.113.9");
  }
  Reading reading;
  REQUIRE(read_authz_message(bytes, reading.message));
  read_authz_check(reading.options, api::find_peer("127.0.0.1", reading.options.proxies), reading.message, reading.text,
                   reading.check);
  CHECK(reading.field("resource") == "absent");
  CHECK(reading.field("source_ip") == "203.0.113.9");
}

TEST_CASE("Bytes that are no CheckRequest are refused, wherever they are cut") {
  const std::string whole = Asked{.headers = {{"a", "b"}}}.bytes();
  AuthzMessage message;
  CHECK(read_authz_message("", message));
  for (std::size_t size = 1; size < whole.size(); ++size) CHECK(!read_authz_message(whole.substr(0, size), message));
}

TEST_CASE("Credentials of Sluice are named, and an application's own key is not") {
  const std::string key = mint_key("shop");
  std::array<std::string_view, kCredentialHeaders> found;
  Reading reading;
  reading.read({.headers = {{"x-api-key", key}, {"authorization", "Bearer " + key}}});
  CHECK(credential_headers(reading.message, found).size() == 2);
  reading.read({.headers = {{"x-api-key", "of-the-application"}, {"authorization", "Bearer eyJ"}}});
  CHECK(credential_headers(reading.message, found).empty());
}

TEST_CASE("An admission gives both sides its headers, and removes those that a client invented") {
  const std::array<std::string_view, 1> remove{"x-api-key"};
  std::string bytes;
  write_authz_allowed(decision_with_limit(), {.x = true, .ietf = false}, remove, bytes);
  CHECK(fields_of(bytes, 1) == std::vector<std::string>{std::string("\x08\x00", 2)});
  const std::string ok = fields_of(bytes, 3).at(0);
  const std::vector<std::string> expected{"X-RateLimit-Limit: 10 (2)", "X-RateLimit-Remaining: 7 (2)",
                                          "X-RateLimit-Reset: 3 (2)"};
  CHECK(headers_of(ok, 2) == expected);
  CHECK(headers_of(ok, 6) == expected);
  CHECK(fields_of(ok, 5) == std::vector<std::string>{"RateLimit-Policy", "RateLimit", "RateLimit-Partition",
                                                     "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
                                                     "x-api-key"});
}

TEST_CASE("An admission has the headers of the answer over HTTP, in each family and of any length") {
  const std::vector<DimensionRef> key_by{{Dimension::subject, ""}, {Dimension::tag, std::string(100, 't')}};
  Decision decision = decision_with_limit();
  decision.key_by = key_by;
  decision.window_us = 60'000'000;
  decision.spent = 1;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  // Around those at which a length takes two bytes, and three.
  constexpr std::size_t kSizes[] = {0, 1, 60, 61, 62, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 120, 128, 20'000};
  for (unsigned bits = 0; bits < 32; ++bits) {
    const HeaderFamilies families{.x = (bits & 1) != 0,
                                  .ietf = (bits & 2) != 0,
                                  .ietf_next = (bits & 4) != 0,
                                  .draft6 = (bits & 8) != 0,
                                  .retry_after = (bits & 16) != 0};
    for (const std::size_t size : kSizes) {
      for (const std::int64_t number : {std::int64_t{0}, std::int64_t{9'999}, kMost, -kMost - 1}) {
        for (const Expose expose : {Expose::all, Expose::remaining, Expose::none}) {
          const std::string name = std::string(size, 'n') + (size % 2 == 0 ? "" : "\"\\\n");
          decision.limit_name = name;
          decision.report.limit = decision.report.remaining = number;
          decision.expose = expose;
          CAPTURE(bits);
          CAPTURE(size);
          CAPTURE(number);
          check_headers(decision, families);
        }
      }
    }
  }
}

TEST_CASE("Every header of a decision is one that a client cannot invent") {
  Decision decision = decision_with_limit();
  std::string lines;
  write_decision_headers(decision, {.x = true, .ietf = true, .ietf_next = true, .draft6 = true}, lines);
  decision.expose = Expose::none;
  std::string none;
  write_authz_allowed(decision, {}, {}, none);
  const auto removed = fields_of(fields_of(none, 3).at(0), 5);
  std::size_t names = 0;
  for (std::size_t at = 0; at < lines.size(); at = lines.find("\r\n", at) + 2, ++names) {
    const std::string name = lines.substr(at, lines.find(':', at) - at);
    CHECK_MESSAGE(is_one_of(removed, name.c_str()), name);
  }
  CHECK(names >= 8);
}

TEST_CASE("The dynamic metadata are the members of the answer to a check, and those of the policy") {
  Decision decision = decision_with_limit();
  decision.reason = Reason::within_limit;
  decision.policy_version = 3;
  decision.request_id = "id-1";
  const Metadata metadata{{"team", "shop"}, {"tier", std::string(200, 'g')}};
  std::string bytes;
  write_authz_allowed(decision, {}, {}, bytes);
  const std::string alone =
      "allowed=true action=allow reason=within_limit limit=10 remaining=7 reset_at=3 limit_name=burst "
      "policy_id=orders policy_version=3 plan_id=two shadow=false request_id=id-1 ";
  CHECK(members_of(fields_of(bytes, 4).at(0)) == alone);
  decision.metadata = &metadata;
  bytes.clear();
  write_authz_allowed(decision, {}, {}, bytes);
  CHECK(members_of(fields_of(bytes, 4).at(0)) == alone + "metadata={team=shop tier=" + std::string(200, 'g') + " } ");
}

TEST_CASE("A denial has the status, the headers and the body of the answer over HTTP") {
  const Decision decision = decision_with_limit();
  std::string bytes;
  write_authz_denied(grpc::Code::resource_exhausted,
                     {.status = 429, .content_type = "application/json", .headers = "Retry-After: 3\r\n", .body = "{}"},
                     &decision, bytes);
  CHECK(fields_of(bytes, 1) == std::vector<std::string>{"\x08\x08"});
  const std::string denied = fields_of(bytes, 2).at(0);
  CHECK(fields_of(denied, 1) == std::vector<std::string>{"\x08\xAD\x03"});
  CHECK(headers_of(denied, 2) == std::vector<std::string>{"content-type: application/json (2)", "Retry-After: 3 (2)"});
  CHECK(fields_of(denied, 3) == std::vector<std::string>{"{}"});
  CHECK(fields_of(bytes, 4).size() == 1);
}
