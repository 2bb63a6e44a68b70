// The rule of a Traefik router, such as Host(`a`) && PathPrefix(`/b`), as the scope of a policy.
#pragma once

#include <string_view>

#include "common/domain/policy.hpp"

namespace sluice::server::imports {

// Adds what the rule demands to the policy's scope. Returns false if the rule has something that a scope cannot say;
// then part of it may have been added.
bool read_traefik_rule(std::string_view rule, Policy& policy);

}  // namespace sluice::server::imports
