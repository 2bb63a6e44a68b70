// API keys. The server makes the secret and shows it once; what it keeps is the hash. A key whose hash comes with the
// body is imported: whoever made it has the secret.
//
// The hash of a key that exists stays unless a body names another one: a secret is replaced by a new key beside the old
// one, which is deleted once nobody uses it.
#pragma once

#include "server/admin/objects_api.hpp"

namespace sluice::server::admin {

extern const Resource kKeys;

}  // namespace sluice::server::admin
