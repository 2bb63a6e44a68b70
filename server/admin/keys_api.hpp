// Routes of API keys. The server makes the secret, shows it once and stores only its hash. A body with a `key_hash`
// imports a key that was made elsewhere. An existing key keeps its hash unless the body has a `key_hash`.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

extern const Resource kKeys;

}  // namespace sluice::server::admin
