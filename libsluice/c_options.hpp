// Options of the C interface, which are set by their names.
#pragma once

#include <string_view>

#include "sluice/engine.hpp"
#include "sluice/sluice.h"

struct sluice_options {
  sluice::v1::Options options;
  sluice::v1::Status fault;  // the first that a setter found
};

namespace sluice::lib {

// Sets the option `name`. Throws std::bad_alloc.
v1::Status set_option(v1::Options& options, std::string_view name, std::string_view value);
v1::Status missing_value(std::string_view name);  // of an option that is set to NULL. Throws std::bad_alloc.

}  // namespace sluice::lib
