#include "ctl/core/output.hpp"

#include <doctest/doctest.h>

#include "ctl/core/document.hpp"

namespace sluice::ctl {
namespace {

std::string cell_of(std::string_view json) {
  const auto document = Document::parse(json);
  return cell(document->root());
}

}  // namespace

TEST_CASE("a table's columns are as wide as their widest cell, counted in characters") {
  Table table({"NAME", "N"});
  table.add({"é", "1"});
  table.add({"longer", "22"});
  CHECK(table.text() == "NAME    N\né       1\nlonger  22\n");
}

TEST_CASE("cells show what a value means") {
  CHECK(cell_of("null") == "-");
  CHECK(cell_of("\"\"") == "-");
  CHECK(cell_of("true") == "yes");
  CHECK(cell_of("12345678901234567890") == "12345678901234567890");
  CHECK(cell_of(R"([{"name":"a"},{"name":"b"}])") == "a, b");
  CHECK(cell_of(R"({"subject":"user:1","n":[1,2]})") == "subject=user:1, n=1, 2");
  CHECK(cell_of("[]") == "-");
}

TEST_CASE("control characters do not reach the terminal, other characters do") {
  CHECK(printable("a\x1b[2Jb\n\x7f") == "a?[2Jb??");
  CHECK(printable("\xC2\x9B"
                  "31m") == "?31m");
  CHECK(printable("\xC3\xA9 ✓") == "\xC3\xA9 ✓");
}

TEST_CASE("a member of a member is found by its path") {
  const auto document = Document::parse(R"({"a":{"b":"c"}})");
  CHECK(cell(member_at(document->root(), "a.b")) == "c");
  CHECK(cell(member_at(document->root(), "a.x.y")) == "-");
}

}  // namespace sluice::ctl
