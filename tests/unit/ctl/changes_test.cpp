#include "ctl/core/changes.hpp"

#include <doctest/doctest.h>

#include "ctl/core/document.hpp"

namespace sluice::ctl {
namespace {

std::string patch_text(std::string_view before, std::string_view patch) {
  const auto old = Document::parse(before);
  const auto changed = Document::parse(patch);
  return describe_patch(old->root(), changed->root());
}

}  // namespace

TEST_CASE("a change shows the old and the new value of each member") {
  CHECK(patch_text(R"({"mode":"shadow","scope":{"resource":"a","region":"eu"},"limits":[1,2]})",
                   R"({"mode":"enforce","scope":{"region":null,"user":"x"},"limits":[1]})") ==
        "    - /mode \"shadow\"\n"
        "    + /mode \"enforce\"\n"
        "    - /scope/region \"eu\"\n"
        "    + /scope/user \"x\"\n"
        "    - /limits [1,2]\n"
        "    + /limits [1]\n");
}

TEST_CASE("a change of an object that is not known shows the new values") {
  CHECK(patch_text("null", R"({"a":{"b":1},"c":null})") == "    + /a/b 1\n");
}

TEST_CASE("a value cannot write escape sequences to the terminal") {
  CHECK(patch_text(R"({})", "{\"name\":\"\\u001b[31mred\\u009b\"}").find('\x1b') == std::string::npos);
}

TEST_CASE("an object is shown as YAML behind its sign") {
  const auto object = Document::parse(R"({"id":"pro","limits":[{"name":"m"}]})");
  CHECK(describe_object(object->root(), '+') == "    + id: pro\n    + limits:\n    +   - name: m\n");
}

}  // namespace sluice::ctl
