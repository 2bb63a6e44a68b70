// Which options fit together.
#pragma once

#include "sluice/engine.hpp"

namespace sluice::lib {

// Not ok: `status.message` names the first option that is at fault.
v1::Status check_options(const v1::Options& options);

}  // namespace sluice::lib
