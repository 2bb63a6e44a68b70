// Makes an API key for `sluice-agent mint-key`.
#pragma once

#include <string>

#include "agent/config.hpp"

namespace sluice::agent {

// Returns `{"id":…,"key":…,"key_hash":…,"bundle_entry":{…}}` and a line end. The key is stored nowhere.
// REQUIRES: read_config() has checked `request`.
std::string mint_key_document(const MintKeyRequest& request);

}  // namespace sluice::agent
