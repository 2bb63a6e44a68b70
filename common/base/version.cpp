#include "common/base/version.hpp"

#define SLUICE_TEXT_OF(x) #x
#define SLUICE_TEXT(x) SLUICE_TEXT_OF(x)

namespace sluice {

std::string_view version() { return SLUICE_VERSION; }

std::string_view compiler() {
  return "clang " SLUICE_TEXT(__clang_major__) "." SLUICE_TEXT(__clang_minor__) "." SLUICE_TEXT(__clang_patchlevel__);
}

}  // namespace sluice
