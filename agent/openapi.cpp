#include "agent/openapi.hpp"

#include "agent/embedded.hpp"

namespace sluice::agent {

std::string_view openapi_document() { return embedded::openapi; }

}  // namespace sluice::agent
