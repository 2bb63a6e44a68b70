// Heads (last rows) of the audit chains, saved in a file outside the database. With this file, `audit verify`
// notices that the last rows of a chain were deleted, even if the table audit_heads was changed to match.
//
//   {"heads":[{"organization_id":"acme","seq":1234,"hash":"<64 hex digits>"}]}
//
// organization_id "" is the chain of the platform.
#pragma once

#include <map>
#include <string>

#include "common/base/error.hpp"
#include "server/audit/chain_check.hpp"

namespace sluice::server::audit {

using SavedHeads = std::map<std::string, ChainHead, std::less<>>;  // by organization

// Errors: head_file_unreadable, head_file_malformed.
Result<SavedHeads> read_saved_heads(const std::string& path);
Result<SavedHeads> parse_saved_heads(const std::string& text);

std::string saved_heads_document(const SavedHeads& heads);
// Replaces the file atomically. Error: head_file_unwritable.
Result<> write_saved_heads(const std::string& path, const SavedHeads& heads);

}  // namespace sluice::server::audit
