// What a batch is cut into, what is refused as a whole, and what is left to each check.
#include "common/domain/check_batch.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/domain/allocations.hpp"

using namespace sluice;

namespace {

// A batch, cut. The body lies in a block of exactly its size, so that the address sanitizer sees one byte too far.
struct Cut {
  explicit Cut(std::string_view text) : body(std::make_unique<char[]>(text.size())) {
    text.copy(body.get(), text.size());
    const std::string before(text);
    faults = split_checks({body.get(), text.size()}, checks);
    CHECK(std::string_view(body.get(), text.size()) == before);  // it is only read
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> found;
    for (const std::span<char> check : checks) found.emplace_back(check.data(), check.size());
    return found;
  }
  // The faults as "status pointer: text", one a line.
  std::string refusal() const {
    std::string text;
    for (const RequestFault& fault : faults) {
      text += std::to_string(fault.status) + " " + fault.pointer + ": " + fault.text + "\n";
    }
    return text;
  }
  // What parse_check says of one of its checks.
  std::string fault_of(std::size_t check) {
    REQUIRE(check < checks.size());
    std::string copy(checks[check].data(), checks[check].size());  // it is parsed in place
    CheckRequest request;
    const auto found = parse_check(copy, request);
    return found.empty() ? "none" : std::to_string(found[0].status) + " " + found[0].pointer;
  }

  std::unique_ptr<char[]> body;
  std::vector<std::span<char>> checks;
  std::vector<RequestFault> faults;
};

std::string only_batch_fault(std::string_view text) {
  const Cut cut(text);
  if (cut.faults.size() != 1) return "not one fault:\n" + cut.refusal();
  return std::to_string(cut.faults[0].status) + " " + cut.faults[0].pointer;
}

std::string batch_of(const std::vector<std::string>& checks) {
  std::string text = R"({"checks":[)";
  for (const std::string& check : checks) text += (text.back() == '[' ? "" : ",") + check;
  return text + "]}";
}

}  // namespace

TEST_CASE("a batch is cut into its checks, in their order, without the space around them") {
  const Cut cut(
      " {\t\"checks\" :\r\n[ {\"subject\":\"a\"} ,\n{\"subject\":\"b]\\\"}\"},{\"tags\":{\"x\":\"y\"}}\t] } \n");
  REQUIRE(cut.refusal().empty());
  CHECK(cut.texts() ==
        std::vector<std::string>{R"({"subject":"a"})", R"({"subject":"b]\"}"})", R"({"tags":{"x":"y"}})"});
}

TEST_CASE("each span of a batch is a body that parse_check takes in place") {
  Cut cut(batch_of({R"({"subject":"\u0061"})", R"({"subject":"b","cost":2})"}));
  CheckRequest first;
  CheckRequest second;
  CHECK(parse_check(cut.checks[0], first).empty());
  CHECK(parse_check(cut.checks[1], second).empty());
  CHECK(first.find({Dimension::subject, ""})->text == "a");
  CHECK(second.find({Dimension::subject, ""})->text == "b");
  CHECK(second.requests == 2);
}

TEST_CASE("an element that is no check is cut out like the others, and is refused alone") {
  const std::string deep = R"({"tags":)" + std::string(40, '[') + std::string(40, ']') + "}";
  const std::string huge = R"({"subject":"s","cost":)" + std::string(400, '9') + "}";
  const std::vector<std::string> elements{R"({"subject":"good"})",
                                          "7",
                                          "null",
                                          R"("text")",
                                          "[]",
                                          "[{}]",
                                          "{}",
                                          R"({"subject":"x","cost":-1})",
                                          R"({"subject":"a","subject":"b"})",
                                          deep,
                                          huge,
                                          "1e999",
                                          "\"\\ud800\"",
                                          R"({"subject":"\ud800x"})",
                                          "{\"subject\":\"\xff\"}",
                                          R"({"resource":"\"]}","cost":1e999})",
                                          R"({"a":{"cost":1e999,"b":["]}"]}})",
                                          R"({"subject":"also good"})"};
  Cut cut(batch_of(elements));
  REQUIRE(cut.refusal().empty());
  CHECK(cut.texts() == elements);
  CHECK(cut.fault_of(0) == "none");
  CHECK(cut.fault_of(elements.size() - 1) == "none");
  for (std::size_t i = 1; i + 1 < elements.size(); ++i) {
    CAPTURE(elements[i]);
    CHECK(cut.fault_of(i) != "none");
  }
  CHECK(cut.fault_of(7) == "422 /cost");
  CHECK(cut.fault_of(9) == "400 /tags");
  CHECK(cut.fault_of(10) == "422 /cost");
}

TEST_CASE("a body that is not JSON is refused as a whole, wherever it breaks") {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "{\"checks\"",
                                      R"({"checks":)",
                                      R"({"checks":[)",
                                      R"({"checks":[{})",
                                      R"({"checks":[{},]})",
                                      R"({"checks":[,{}]})",
                                      R"({"checks":[{} {}]})",
                                      R"({"checks":[{}]]})",
                                      R"({"checks":[{"a"}]})",
                                      R"({"checks":[{"subject":"a",}]})",
                                      R"({"checks":[{"subject":"a])",
                                      R"({"checks":[1e999)",
                                      R"({"checks":["\ud800)",
                                      R"({"checks":[01]})",
                                      R"({"checks":[nul]})",
                                      R"({'checks':[]})",
                                      R"({"checks" []})",
                                      R"({,"checks":[{}]})",
                                      R"({"checks":[{}],})",
                                      "{\"checks\":[{\"subject\":\"a\nb\"}]}"}) {
    CAPTURE(text);
    const Cut cut(text);
    REQUIRE_FALSE(cut.faults.empty());
    CHECK(cut.faults[0].status == 400);
    CHECK(cut.faults[0].pointer.empty());
  }
}

TEST_CASE("a comma before a closing bracket is named in a check and in a batch, with the byte where it is") {
  const std::string words = "not JSON: a comma before the closing bracket: remove the comma";
  const Cut list(R"({"checks":[{"subject":"a"},]})");
  REQUIRE(list.faults.size() == 1);
  CHECK(list.faults[0].text == words + " (byte 26)");
  CHECK(list.faults[0].offset == 26);
  const Cut inner(R"({"checks":[{"subject":"a", }]})");
  REQUIRE(inner.faults.size() == 1);
  CHECK(inner.faults[0].offset == 25);
  CheckRequest request;
  std::string check = R"({"subject":"\u0061b", })";
  const auto faults = parse_check(check, request);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].text == words + " (byte 20)");
}

TEST_CASE("a comment, a form and single quotes are named in a check, also behind an unescaped text") {
  const auto fault_of = [](std::string check) {
    CheckRequest request;
    const auto faults = parse_check(check, request);
    REQUIRE(faults.size() == 1);
    return faults[0].text;
  };
  CHECK(fault_of(R"({"subject":"\u0061b" // who
  })") == "not JSON: a comment, which JSON does not have: remove it (byte 21)");
  CHECK(fault_of("subject=user:42&cost=1").starts_with("not JSON: a form (name=value)"));
  CHECK(fault_of("{'subject':'user:42'}").starts_with("not JSON: a single quote"));
  CHECK(fault_of("{subject: 1}") == "not JSON: a name without quotes: write \"subject\" (byte 1)");
  const Cut batch("{\"checks\":[{\"subject\":'a'}]}");
  REQUIRE(batch.faults.size() == 1);
  CHECK(batch.faults[0].text.starts_with("not JSON: a single quote"));
}

TEST_CASE("a batch that is sent as a check, and a check that is sent as a batch, hear of the other path") {
  CheckRequest request;
  std::string batch = R"({"checks":[{"subject":"a"}]})";
  const auto of_check = parse_check(batch, request);
  REQUIRE_FALSE(of_check.empty());
  CHECK(of_check[0].status == 400);
  CHECK(of_check[0].pointer == "/checks");
  CHECK(of_check[0].text.find("POST /v1/check/batch") != std::string::npos);
  const Cut single(R"({"resource":"GET:/orders","colour":"red"})");
  REQUIRE(single.faults.size() == 3);
  CHECK(single.faults[0].text.find("send one check to POST /v1/check,") != std::string::npos);
  CHECK(single.faults[1].text.find("POST") == std::string::npos);
}

TEST_CASE("an unfinished nest as large as a body may be is refused without a deep stack") {
  for (const char* opening : {"[", "{\"a\":"}) {
    std::string text = R"({"checks":[)";
    while (text.size() < kMaxBatchBytes) text += opening;
    CHECK(only_batch_fault(text) == "400 ");
  }
  const std::string closed = std::string(200'000, '[') + std::string(200'000, ']');
  const Cut cut(batch_of({closed, R"({"subject":"a"})"}));
  REQUIRE(cut.refusal().empty());
  CHECK(cut.checks[0].size() == closed.size());
  CHECK(cut.texts()[1] == R"({"subject":"a"})");
}

TEST_CASE("nothing may follow a batch, not even behind a NUL") {
  const std::string good = batch_of({R"({"subject":"a"})"});
  CHECK(Cut(good).refusal().empty());
  for (const std::string& tail :
       {std::string("garbage"), std::string("{}"), std::string(1, '\0'), std::string("\0{}", 3)}) {
    CHECK(only_batch_fault(good + tail) == "400 ");
  }
  CHECK(only_batch_fault(std::string("{\"checks\":[\0]}", 14)) == "400 ");
  CHECK(only_batch_fault(std::string("{\"checks\":[{\"subject\":\"a\0b\"}]}", 29)) == "400 ");
  CHECK(only_batch_fault(std::string("\0", 1) + good) == "400 ");
  CHECK(only_batch_fault("\xEF\xBB\xBF" + good) == "400 ");
}

TEST_CASE("another value than an object is no batch") {
  for (const char* text : {"[]", "null", "7", R"("checks")", "true"}) CHECK(only_batch_fault(text) == "400 ");
}

TEST_CASE("a batch has the member checks, once, and no other") {
  CHECK(only_batch_fault("{}") == "400 /checks");
  CHECK(only_batch_fault(R"({"checks":[{}],"checks":[{}]})") == "400 /checks");
  CHECK(only_batch_fault(R"({"checks":[{}],"\u0063hecks":[{}]})") == "400 /checks");
  CHECK(only_batch_fault(R"({"checks":[{}],"explain":true})") == "400 /explain");
  CHECK(only_batch_fault(R"({"a/b":{"deep":[[1e999]]},"checks":[{}]})") == "400 /a~1b");
  CHECK(only_batch_fault("{\"checks\":[{}],\"\xff\":1}") == "400 ");
  CHECK(Cut(R"({"\u0063hecks":[{}]})").refusal().empty());
  const Cut single(R"({"resource":"GET:/orders","subject":"user:42"})");
  CHECK(single.faults.size() == 3);  // two unknown members, and no checks
}

TEST_CASE("of two lists neither is judged by halves") {
  const Cut cut(R"({"checks":[{"subject":"a"}],"checks":[{"subject":"b"},{"subject":"c"}]})");
  CHECK(cut.refusal() == "400 /checks: given twice\n");
}

TEST_CASE("checks is a list") {
  for (const char* value : {"{}", "null", "7", R"("x")", "true"}) {
    CHECK(only_batch_fault(R"({"checks":)" + std::string(value) + "}") == "400 /checks");
  }
}

TEST_CASE("an empty batch is out of range, and is told so") {
  const Cut cut(R"({"checks":[ ]})");
  CHECK(cut.refusal() == "422 /checks: is empty: send 1 to 256 checks\n");
}

TEST_CASE("256 checks are a batch, 257 are too many") {
  std::vector<std::string> checks(kMaxBatchChecks, R"({"subject":"a"})");
  CHECK(Cut(batch_of(checks)).texts() == checks);
  checks.emplace_back("7");
  const Cut more(batch_of(checks));
  CHECK(more.refusal() == "422 /checks: holds 257 checks; a batch takes 1 to 256\n");
}

TEST_CASE("what is no batch at all comes before a number out of range") {
  const Cut cut(R"({"checks":[],"other":1})");
  REQUIRE(cut.faults.size() == 2);
  CHECK(cut.faults[0].status == 400);
  CHECK(cut.faults[1].status == 422);
}

TEST_CASE("a body of 1 MiB is cut") {
  std::string large = R"({"subject":"a"})";
  large.insert(1, kMaxBatchBytes - batch_of({large}).size(), ' ');
  const std::string text = batch_of({large});
  REQUIRE(text.size() == kMaxBatchBytes);
  CHECK(Cut(text).texts() == std::vector<std::string>{large});
}

#ifdef SLUICE_COUNTS_ALLOCATIONS
TEST_CASE("cutting a good batch allocates nothing once the list has grown") {
  std::string text =
      batch_of(std::vector<std::string>(kMaxBatchChecks, R"({"subject":"a\u0062","tags":{"x":"y"},"cost":1})"));
  std::vector<std::span<char>> checks;
  CHECK(split_checks(text, checks).empty());
  const AllocationCount count;
  CHECK(split_checks(text, checks).empty());
  CHECK(count.so_far() == 0);
}
#endif
