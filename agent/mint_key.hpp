// `sluice-agent mint-key`: a new API key as one JSON object.
#pragma once

#include <string>

#include "agent/config.hpp"

namespace sluice::agent {

// `{"id":…,"key":…,"key_hash":…,"bundle_entry":{…}}` and a line end. The key is nowhere else: it cannot be shown again.
// REQUIRES: a request that read_config accepted.
std::string mint_key_document(const MintKeyRequest& request);

}  // namespace sluice::agent
