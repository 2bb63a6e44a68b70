// What a check is refused for although it is JSON: fields, types and ranges.
#include <doctest/doctest.h>

#include "tests/unit/domain/parsed_check.hpp"

using namespace sluice;
using namespace sluice::check_tests;

namespace {

std::string quoted(std::size_t bytes) { return "\"" + std::string(bytes, 'x') + "\""; }

std::string named_entries(std::size_t count, std::string_view value) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "\"n" : ",\"n") + std::to_string(i) + "\":" + std::string(value);
  }
  return text + "}";
}

}  // namespace

TEST_CASE("cost together with costs.requests is 400, in either order") {
  CHECK(only_fault(R"({"resource":"r","cost":1,"costs":{"requests":1}})") == "400 /costs/requests");
  CHECK(only_fault(R"({"resource":"r","costs":{"requests":1},"cost":1})") == "400 /costs/requests");
}

TEST_CASE("an unknown field is 400 and named, with the field that was probably meant") {
  CHECK(only_fault(R"({"resource":"r","subjct":"user:42"})") == "400 /subjct");
  CHECK(says(Parsed(R"({"resource":"r","subjct":"u"})"), "did you mean subject?"));
  CHECK(says(Parsed(R"({"resource":"r","sujbect":"u"})"), "did you mean subject?"));
  CHECK(says(Parsed(R"({"resource":"r","sourceip":"u"})"), "did you mean source_ip?"));
  CHECK(says(Parsed(R"({"resource":"r","tag":{}})"), "did you mean tags?"));
  CHECK(says(Parsed(R"({"resource":"r","planId":"p"})"), "did you mean plan_id?"));
  CHECK(says(Parsed(R"({"resource":"r","client_ip":"1.2.3.4"})"), "write it as source_ip"));
  CHECK(says(Parsed(R"({"resource":"r","plan":"p"})"), "write it as plan_id"));
  CHECK(says(Parsed(R"({"resource":"r","hits":2})"), "write it as cost"));
}

TEST_CASE("a field that a check cannot have says why, and what to send instead") {
  CHECK(only_fault(R"({"resource":"r","policy_id":"orders"})") == "400 /policy_id");
  CHECK(says(Parsed(R"({"resource":"r","policy_id":"orders"})"), "plan_id chooses a plan"));
  CHECK(says(Parsed(R"({"resource":"r","policy":"orders"})"), "plan_id chooses a plan"));
  CHECK(only_fault(R"({"resource":"r","version":"1"})") == "400 /version");
  CHECK(says(Parsed(R"({"resource":"r","version":1})"), "the API's version is in the path"));
  CHECK(says(Parsed(R"({"resource":"r","units":5})"), "write costs"));
}

TEST_CASE("a name near nothing gets no wrong hint") {
  for (const std::string_view name : {"ip", "x", "", "colour", "quite_something_else"}) {
    CAPTURE(name);
    const Parsed p("{\"resource\":\"r\",\"" + std::string(name) + "\":1}");
    REQUIRE(p.faults.size() == 1);
    CHECK(p.faults[0].pointer == "/" + std::string(name));
    CHECK_FALSE(says(p, "did you mean"));
  }
}

TEST_CASE("org and tenant are not fields of a request: they follow from the credential") {
  CHECK(only_fault(R"({"resource":"r","org":"acme"})") == "400 /org");
  CHECK(only_fault(R"({"resource":"r","tenant":"shop"})") == "400 /tenant");
  CHECK(says(Parsed(R"({"resource":"r","tenant":"shop"})"), "credential"));
}

TEST_CASE("a name as Go writes it is 422 and gets the name in snake case") {
  for (const auto& [name, field] : {std::pair{"Subject", "subject"},
                                    {"UserID", "user_id"},
                                    {"SourceIP", "source_ip"},
                                    {"PlanID", "plan_id"},
                                    {"APIKey", "api_key"},
                                    {"Quantity", "quantity"}}) {
    CAPTURE(name);
    const Parsed p(R"({"resource":"r",")" + std::string(name) + R"(":"u"})");
    REQUIRE(p.faults.size() == 1);
    CHECK(p.faults[0].status == 422);
    CHECK(p.faults[0].text == "is not a field of a check; write it as " + std::string(field));
  }
  CHECK(only_fault(R"({"resource":"r","Colour":"red"})") == "400 /Colour");
}

TEST_CASE("what follows from the credential or the counter store is 422, whatever its type") {
  for (const char* name : {"api_key", "org_id", "timestamp"}) {
    CAPTURE(name);
    for (const char* value : {"\"k1\"", "1", R"({"a":["b"]})"}) {
      CHECK(only_fault(R"({"resource":"r",")" + std::string(name) + "\":" + value + "}") ==
            "422 /" + std::string(name));
    }
  }
}

TEST_CASE("another name of a field is that field, and both together are 400") {
  const Parsed p(R"({"user_id":"u","signal_type":"span","quantity":3,"tenant_id":"shop"})");
  REQUIRE(p.faults.empty());
  CHECK(p.request.find({Dimension::user, ""})->text == "u");
  CHECK(p.request.find({Dimension::signal, ""})->text == "span");
  CHECK(p.request.requests == 3);
  CHECK(p.request.tenant_id == "shop");
  CHECK(only_fault(R"({"user":"u","user_id":"u"})") == "400 /user_id");
  CHECK(only_fault(R"({"resource":"r","quantity":1,"cost":1})") == "400 /cost");
  CHECK(only_fault(R"({"resource":"r","quantity":1,"costs":{"requests":1}})") == "400 /costs/requests");
}

TEST_CASE("the value of an unknown field is skipped, whatever it holds") {
  CHECK(only_fault(R"({"x":{"subject":[{"cost":-1}],"subject":1},"resource":"r"})") == "400 /x");
  CHECK(only_fault(R"({"x":[[],{},"y",1.5,null,true],"resource":"r"})") == "400 /x");
}

TEST_CASE("an unknown name is escaped in the pointer and cut where it is long, never within a character") {
  CHECK(only_fault(R"({"resource":"r","a/b~c":1})") == "400 /a~1b~0c");
  const std::string sixty_three(63, 'x');
  CHECK(only_fault("{\"resource\":\"r\",\"" + sixty_three + "x\":1}") == "400 /" + sixty_three + "x");
  CHECK(only_fault("{\"resource\":\"r\",\"" + sixty_three + "€\":1}") == "400 /" + sixty_three + "…");
}

TEST_CASE("a field given twice is 400, also when one is written with escapes") {
  CHECK(only_fault(R"({"subject":"a","subject":"b"})") == "400 /subject");
  CHECK(only_fault(R"({"subject":"a","s\u0075bject":"a"})") == "400 /subject");
  CHECK(only_fault(R"({"resource":"r","cost":1,"cost":1})") == "400 /cost");
  CHECK(only_fault(R"({"resource":"r","tags":{"a":"b"},"tags":{"c":1}})") == "400 /tags");
}

TEST_CASE("a name given twice inside tags, attributes or costs is 400") {
  CHECK(only_fault(R"({"tags":{"a":"1","a":"2"}})") == "400 /tags/a");
  CHECK(only_fault(R"({"attributes":{"a":"1","\u0061":"1"}})") == "400 /attributes/a");
  CHECK(only_fault(R"({"resource":"r","costs":{"t":1,"t":1}})") == "400 /costs/t");
  CHECK(only_fault(R"({"resource":"r","costs":{"requests":1,"requests":1}})") == "400 /costs/requests");
}

TEST_CASE("a dimension that is not a string is 400: null is not absence") {
  for (const std::string_view value : {"null", "1", "true", "{}", "[]", R"({"a":"b"})", R"(["user:42"])"}) {
    CAPTURE(value);
    CHECK(only_fault("{\"resource\":\"r\",\"subject\":" + std::string(value) + "}") == "400 /subject");
  }
  CHECK(only_fault(R"({"resource":"r","plan_id":7})") == "400 /plan_id");
  CHECK(only_fault(R"({"resource":"r","request_id":7})") == "400 /request_id");
}

TEST_CASE("a cost that is not an integer is 400") {
  for (const std::string_view value : {"1.0", "1.5", "1e3", "1E3", "1e400", "\"1\"", "null", "true", "{}", "[1]"}) {
    CAPTURE(value);
    CHECK(only_fault("{\"resource\":\"r\",\"cost\":" + std::string(value) + "}") == "400 /cost");
    CHECK(only_fault("{\"resource\":\"r\",\"costs\":{\"t\":" + std::string(value) + "}}") == "400 /costs/t");
  }
}

TEST_CASE("a cost out of range is 422, however long its digits") {
  for (const std::string& value :
       {std::string("-1"), std::string("2147483648"), std::string("4294967296"), std::string("-9223372036854775809"),
        std::string("18446744073709551616"), std::string(400, '9'), "-" + std::string(400, '9')}) {
    CAPTURE(value);
    CHECK(only_fault("{\"resource\":\"r\",\"cost\":" + value + "}") == "422 /cost");
    CHECK(only_fault("{\"resource\":\"r\",\"costs\":{\"t\":" + value + "}}") == "422 /costs/t");
  }
  CHECK(says(Parsed(R"({"resource":"r","cost":-1})"), "not negative"));
}

TEST_CASE("a number too large for the reader is judged by where it stands") {
  const std::string number(400, '9');
  CHECK(only_fault("{\"subject\":" + number + "}") == "400 /subject");
  CHECK(only_fault(number) == "400 ");
  CHECK(only_fault("{\"x\":" + number + "}") == "400 /x");
}

TEST_CASE("explain, tags, attributes and costs of a wrong type are 400") {
  for (const std::string_view field : {"explain", "tags", "attributes", "costs"}) {
    for (const std::string_view value : {"null", "1", "\"true\"", "[]", R"([{"a":"b"}])"}) {
      CAPTURE(field);
      CAPTURE(value);
      CHECK(only_fault("{\"resource\":\"r\",\"" + std::string(field) + "\":" + std::string(value) + "}") ==
            "400 /" + std::string(field));
    }
  }
  CHECK(only_fault(R"({"resource":"r","explain":{"a":true}})") == "400 /explain");
  CHECK(only_fault(R"({"resource":"r","tags":true})") == "400 /tags");
}

TEST_CASE("a tag or attribute that is not a string is 400, and what is inside it is skipped") {
  for (const std::string_view value : {"null", "1", "true", R"({"a":"b"})", R"(["a",{"b":"c"}])"}) {
    CAPTURE(value);
    CHECK(only_fault("{\"tags\":{\"t\":" + std::string(value) + ",\"u\":\"v\"}}") == "400 /tags/t");
    CHECK(only_fault("{\"attributes\":{\"t\":" + std::string(value) + "}}") == "400 /attributes/t");
  }
}

TEST_CASE("strings of 256 bytes pass, of 257 are 422: values") {
  for (const std::string_view field : {"resource", "plan_id", "request_id", "priority"}) {
    CAPTURE(field);
    const std::string head = "{\"subject\":\"s\",\"" + std::string(field) + "\":";
    CHECK(Parsed(head + quoted(256) + "}").ok());
    CHECK(only_fault(head + quoted(257) + "}") == "422 /" + std::string(field));
  }
  CHECK(Parsed("{\"tags\":{\"t\":" + quoted(256) + "}}").ok());
  CHECK(only_fault("{\"tags\":{\"t\":" + quoted(257) + "}}") == "422 /tags/t");
  CHECK(only_fault("{\"attributes\":{\"t\":" + quoted(257) + "}}") == "422 /attributes/t");
}

TEST_CASE("the length of a string counts bytes of UTF-8 after unescaping") {
  std::string euros;
  for (int i = 0; i < 85; ++i) euros += "\\u20ac";  // 510 characters of JSON, 255 bytes of text
  CHECK(Parsed("{\"resource\":\"" + euros + "x\"}").ok());
  CHECK(only_fault("{\"resource\":\"" + euros + "xx\"}") == "422 /resource");
}

TEST_CASE("names of 256 bytes pass, of 257 are 422: tags, attributes and costs") {
  for (const std::string_view field : {"tags", "attributes", "costs"}) {
    CAPTURE(field);
    const std::string head = "{\"resource\":\"r\",\"" + std::string(field) + "\":{";
    const std::string value = field == "costs" ? ":1}}" : ":\"v\"}}";
    CHECK(Parsed(head + quoted(256) + value).ok());
    CHECK(only_fault(head + quoted(257) + value).starts_with("422 /" + std::string(field) + "/xxx"));
  }
}

TEST_CASE("an empty name in tags, attributes or costs is 422") {
  CHECK(only_fault(R"({"resource":"r","tags":{"":"v"}})") == "422 /tags/");
  CHECK(only_fault(R"({"resource":"r","attributes":{"":"v"}})") == "422 /attributes/");
  CHECK(only_fault(R"({"resource":"r","costs":{"":1}})") == "422 /costs/");
}

TEST_CASE("64 tags, attributes or costs pass, 65 are 422") {
  for (const std::string_view field : {"tags", "attributes", "costs"}) {
    CAPTURE(field);
    const std::string head = "{\"resource\":\"r\",\"" + std::string(field) + "\":";
    const std::string_view value = field == "costs" ? "1" : "\"v\"";
    CHECK(Parsed(head + named_entries(64, value) + "}").ok());
    CHECK(only_fault(head + named_entries(65, value) + "}") == "422 /" + std::string(field));
    CHECK(only_fault(head + named_entries(900, value) + "}") == "422 /" + std::string(field));
  }
}

TEST_CASE("an empty plan_id is 422: it does not silently mean any policy") {
  CHECK(only_fault(R"({"resource":"r","plan_id":""})") == "422 /plan_id");
}

TEST_CASE("resource is required unless another dimension or a plan is given") {
  for (const std::string_view text : {"{}", R"({"cost":1})", R"({"request_id":"x","explain":true})",
                                      R"({"tags":{},"attributes":{},"costs":{"t":1}})"}) {
    CAPTURE(text);
    CHECK(only_fault(text) == "400 /resource");
  }
  for (const std::string_view text : {R"({"subject":"s"})", R"({"plan_id":"p"})", R"({"tags":{"a":"b"}})",
                                      R"({"attributes":{"a":"b"}})", R"({"resource":""})"}) {
    CAPTURE(text);
    CHECK(Parsed(text).ok());
  }
}

TEST_CASE("all faults are reported, the gravest first") {
  const Parsed p(R"({"subject":7,"cost":-1,"tags":{"":"x","a":1},"subjct":"s"})");
  CHECK(p.refusal() ==
        "400 /subject: must be a string\n"
        "400 /tags/a: must be a string\n"
        "400 /subjct: unknown field; did you mean subject?\n"
        "422 /cost: a cost is not negative\n"
        "422 /tags/: a name is empty\n");
}

TEST_CASE("faults found before the JSON breaks are reported with the break") {
  const Parsed p(R"({"resource":"r","cost":-1,"subjct":"s",)");
  REQUIRE(p.faults.size() == 3);
  CHECK(p.faults[0].pointer == "/subjct");
  CHECK(p.faults[1].pointer.empty());
  CHECK(p.faults[2].pointer == "/cost");
}

TEST_CASE("a body full of nonsense gets a bounded answer that is still led by the gravest fault") {
  std::string unknown = "{\"resource\":\"r\"";
  for (int i = 0; i < 1000; ++i) unknown += ",\"unknown" + std::to_string(i) + "\":1";
  CHECK(Parsed(unknown + "}").faults.size() == 32);

  std::string lengthy = "{\"resource\":\"r\",\"costs\":{";
  for (int i = 0; i < 60; ++i) lengthy += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":-1";
  const Parsed p(lengthy + "},\"subject\":null}");
  REQUIRE(p.faults.size() == 32);
  CHECK(p.faults[0].status == 400);
  CHECK(p.faults[0].pointer == "/subject");
  CHECK(p.faults[31].status == 422);
}

TEST_CASE("source_ip is an address with or without a port, in all usual forms") {
  const auto address_of = [](const std::string& text) {
    const Parsed p(R"({"source_ip":")" + text + "\"}");
    CAPTURE(text);
    REQUIRE(p.faults.empty());
    return std::string(p.request.find({Dimension::source_ip, ""})->text);
  };
  CHECK(address_of("203.0.113.7") == "203.0.113.7");
  CHECK(address_of("203.0.113.7:51234") == "203.0.113.7");
  CHECK(address_of(" 203.0.113.7\\t") == "203.0.113.7");
  CHECK(address_of("[2001:db8::1]:80") == "2001:db8::1");
  CHECK(address_of("[2001:db8::1]") == "2001:db8::1");
  CHECK(address_of("2001:DB8::1") == "2001:DB8::1");
  CHECK(address_of("::ffff:203.0.113.7") == "::ffff:203.0.113.7");
  CHECK(address_of("[::ffff:203.0.113.7]:80") == "::ffff:203.0.113.7");
}

TEST_CASE("an empty dimension is allowed, and is as if it were left out") {
  const Parsed p(R"({"source_ip":"","user":"","tags":{"env":""},"subject":"s"})");
  CHECK(p.faults.empty());
  CHECK(p.request.find({Dimension::source_ip, ""}) == nullptr);
  CHECK(p.request.find({Dimension::user, ""}) == nullptr);
  CHECK(p.request.find({Dimension::tag, "env"}) == nullptr);
}

TEST_CASE("a source_ip that is no address is 422 with the rule and the fix") {
  for (const std::string text :
       {"localhost", "203.0.113", "203.0.113.7:", "203.0.113.7:99999", "203.0.113.7:x", "[203.0.113.7]:80",
        "[2001:db8::1", "[2001:db8::1]80", "2001:db8::1%eth0", "[]", ":80", " ", "010.0.0.1"}) {
    CAPTURE(text);
    CHECK(only_fault(R"({"source_ip":")" + text + "\"}") == "422 /source_ip");
    CHECK(says(Parsed(R"({"source_ip":")" + text + "\"}"), "must be an IP address, such as 203.0.113.7"));
  }
  const std::string list = R"({"source_ip":"203.0.113.7, 10.0.0.1"})";
  CHECK(only_fault(list) == "422 /source_ip");
  CHECK(says(Parsed(list), "the address that your own proxy added"));
}
