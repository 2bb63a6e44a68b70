// `sluice-agent mint-key`: makes an API key and describes it as one JSON object.
#pragma once

#include <string>

#include "agent/config.hpp"

namespace sluice::agent {

// Returns `{"id":…,"key":…,"key_hash":…,"bundle_entry":{…}}` and a line end. The key is stored nowhere, so it cannot be
// shown again. REQUIRES: read_config() has checked `request`.
std::string mint_key_document(const MintKeyRequest& request);

}  // namespace sluice::agent
