#include "common/json/pointer.hpp"

#include <doctest/doctest.h>

namespace sluice::json {

TEST_CASE("a pointer grows by a slash and a step, a name escaped as RFC 6901 says") {
  CHECK(pointer_to("", "plans") == "/plans");
  CHECK(pointer_to("/plans", 12) == "/plans/12");
  CHECK(pointer_to("/metadata", "a/b~c~1") == "/metadata/a~1b~0c~01");
  CHECK(pointer_to("", "") == "/");
}

TEST_CASE("a step stands for the name it was made of") {
  for (const std::string_view name : {"", "plain", "a/b", "~", "~1", "~01/~", "größe"}) {
    CHECK(unescaped_step(pointer_to("", name).substr(1)) == name);
  }
  CHECK(unescaped_step("a~") == "a~");
}

}  // namespace sluice::json
