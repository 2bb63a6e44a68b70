// Limits files of Limitador.
#include "tests/unit/server/imports/imported.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* kFile = R"(---
- namespace: shop
  name: all
  max_value: 1000
  seconds: 60
  conditions: []
  variables: []
- namespace: shop
  name: posts
  max_value: 5
  seconds: 10
  conditions:
    - "req_method == 'POST'"
  variables:
    - user_id
)";

}  // namespace

TEST_CASE("conditions of Limitador become a scope, and variables the key") {
  const Made made = import_text("limitador", kFile);
  REQUIRE(made.policies.size() == 2);
  const Policy& narrow = made.policies[1];
  CHECK(scope(narrow) == "attr.domain=shop attr.req_method=POST attr.user_id=*");
  REQUIRE(narrow.limits.size() == 2);
  CHECK(narrow.limits[0].name == "posts");
  CHECK(dimensions(narrow.limits[0].key_by) == "attr.user_id");
  CHECK(narrow.enforcement.key_by.empty());
  CHECK(narrow.priority > made.policies[0].priority);
}

TEST_CASE("a limit of Limitador that also holds for narrower requests is repeated there, with a note of the sum") {
  const Made made = import_text("limitador", kFile);
  CHECK(made.policies[1].limits[1].limit == 1000);
  CHECK(made.notes_line("file:2", "up to 2000 pass in 60 s"));
}

TEST_CASE("a window of Limitador begins with its first hit, and a denied hit is not counted") {
  Counter counter(import_text("limitador", "- {namespace: a, max_value: 3, seconds: 10}").policies[0]);
  CHECK(counter.admitted_of(5, 4'000) == 3);
  CHECK_FALSE(counter.admits(10'000));  // a window of the clock would be new here
  CHECK_FALSE(counter.admits(13'999));
  CHECK(counter.admitted_of(5, 14'000) == 3);
}

TEST_CASE("conditions of the first descriptor are read in each of their spellings") {
  for (const char* condition :
       {"\"key == 'v'\"", "key == v", "\"descriptors[0].key == 'v'\"", "\"descriptors[0]['key'] == 'v'\""}) {
    CAPTURE(condition);
    const Made made = import_text(
        "limitador", std::string("- {namespace: a, max_value: 1, seconds: 1, conditions: [") + condition + "]}");
    REQUIRE(made.policies.size() == 1);
    CHECK(scope(made.policies[0]) == "attr.domain=a attr.key=v");
  }
}

TEST_CASE("what is not equal is an expression, and needs the entry as in Limitador") {
  const Made made = import_text("limitador", "- {namespace: a, max_value: 1, seconds: 1, conditions: [\"k != 'v'\"]}");
  CHECK(made.policies[0].match_expr == "'attr.k' != 'v'");
  CHECK(scope(made.policies[0]) == "attr.domain=a attr.k=*");
}

TEST_CASE("a value that ends in a star stays exact") {
  const Made made = import_text("limitador", "- {namespace: a, max_value: 1, seconds: 1, conditions: [\"k == 'v*'\"]}");
  CHECK(made.policies[0].match_expr == "'attr.k' == 'v*'");
  CHECK(scope(made.policies[0]) == "attr.domain=a");
}

TEST_CASE("an expression that is more than one comparison leaves its limit out, with its line") {
  const Made made = import_text(
      "limitador", "- namespace: a\n  max_value: 1\n  seconds: 1\n  conditions:\n    - \"k.startsWith('v')\"\n");
  CHECK(made.policies.empty());
  CHECK(made.notes_line("file:4", "k.startsWith('v')"));
}

TEST_CASE("limits that can meet in one request without one being wider are noted") {
  const Made made = import_text("limitador",
                                "- {namespace: a, max_value: 1, seconds: 1, conditions: [x == 1]}\n"
                                "- {namespace: a, max_value: 1, seconds: 1, conditions: [y == 1]}\n"
                                "- {namespace: a, max_value: 1, seconds: 1, conditions: [x == 2]}\n");
  CHECK(made.notes_line("file:2", "of the limit on line 1"));
  CHECK(made.notes_line("file:3", "of the limit on line 2"));
  CHECK(made.notes.size() == 2);  // x cannot be 1 and 2
}

TEST_CASE("a member that is not known is a note, and one that is missing a fault") {
  CHECK(import_text("limitador", "- namespace: a\n  max_value: 1\n  seconds: 1\n  burst: 3\n")
            .notes_line("file:4", "burst"));
  const Made made = import_text("limitador", "\n- {namespace: a, seconds: 0}\n");
  CHECK(made.faults_line("file:2", "max_value is missing"));
  CHECK(made.faults_line("file:2", "seconds must be a whole number from 1"));
}

TEST_CASE("lines count through documents, and a broken one is named") {
  CHECK(
      import_text("limitador",
                  "---\n- {namespace: a, max_value: 1, seconds: 1}\n---\n- {namespace: b, max_value: -1, seconds: 1}\n")
          .faults_line("file:4", "max_value must be"));
  CHECK(import_text("limitador", "- {namespace: a, max_value: 1, seconds: 1}\n\n- !!int 1\n")
            .faults_line("file:3", "this cannot be read"));
}

TEST_CASE("the same file makes the same ids") {
  const Made first = import_text("limitador", kFile);
  const Made second = import_text("limitador", kFile);
  CHECK(first.policies == second.policies);
  CHECK(first.policies[0].id != first.policies[1].id);
}
