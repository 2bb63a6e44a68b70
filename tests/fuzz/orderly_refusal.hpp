// How a body may be refused, whatever is in it.
#pragma once

#include <string>
#include <vector>

#include "common/domain/check_request.hpp"
#include "common/json/text.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/fuzz/texts.hpp"

namespace sluice::fuzz {

inline void require_orderly(const std::vector<RequestFault>& faults) {
  REQUIRE_THAT(faults.size() <= 32);
  unsigned status = 400;
  for (const RequestFault& fault : faults) {
    REQUIRE_THAT(fault.status == 400 || fault.status == 422);
    REQUIRE_THAT(fault.status >= status);
    status = fault.status;
    REQUIRE_THAT(!fault.text.empty() && fault.text.size() < 512 && fault.pointer.size() < 512);
    REQUIRE_THAT(fault.pointer.empty() || fault.pointer.front() == '/');
    // Pointers quote names of the body, which are UTF-8: nothing of them is lost when they are written.
    std::string written;
    json::append_string(written, fault.pointer);
    REQUIRE_THAT(is_json(written));
    REQUIRE_THAT(fault.pointer.find("\xEF\xBF\xBD") != std::string::npos ||
                 written.find("\xEF\xBF\xBD") == std::string::npos);
  }
}

}  // namespace sluice::fuzz
