// Which options fit together.
#pragma once

#include <expected>
#include <string_view>

#include "sluice/engine.hpp"

namespace sluice::lib {

// `option`: "redis.url".
std::unexpected<v1::Status> refuse(std::string_view option, std::string_view rule,
                                   v1::Code code = v1::Code::invalid_options);

// Not ok: `status.message` names the first option that is at fault.
v1::Status check_options(const v1::Options& options);

}  // namespace sluice::lib
