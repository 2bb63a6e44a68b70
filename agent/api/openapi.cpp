#include "agent/api/openapi.hpp"

#include "agent/api/embedded.hpp"

namespace sluice::agent::api {

std::string_view openapi_document() { return embedded::openapi; }

}  // namespace sluice::agent::api
