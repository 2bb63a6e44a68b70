// Explains in words why one policy decided a request and the other candidates did not.
#pragma once

#include <vector>

#include "common/domain/decision.hpp"
#include "common/policy/match.hpp"

namespace sluice::policy {

// REQUIRES: match() returned `match` and filled `all` for the same request.
CandidateList explain(const Match& match, const std::vector<Candidate>& all, const CheckRequest& request);

}  // namespace sluice::policy
