// Why a policy decided and each other one did not, in words for those who write policies.
#pragma once

#include <vector>

#include "common/domain/decision.hpp"
#include "common/policy/match.hpp"

namespace sluice::policy {

// `all` is what match() put there beside `match`, for the same request.
CandidateList explain(const Match& match, const std::vector<Candidate>& all, const CheckRequest& request);

}  // namespace sluice::policy
