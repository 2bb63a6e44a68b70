// Who judges a request, written down a second time: slow, obvious, and independent of the index. It scans the policies
// as they were written, keeps those that apply, sorts them by the rules and takes the first.
#pragma once

#include <string>
#include <vector>

#include "common/domain/bundle.hpp"
#include "common/domain/check_request.hpp"
#include "common/policy/match.hpp"

namespace sluice::policy::reference {

// A condition together with what it means.
struct Condition {
  std::string text;
  bool (*holds)(const CheckRequest&) = nullptr;
};

struct Candidate {
  const Policy* policy = nullptr;
  Applicability applicability = Applicability::applies;
};

struct Answer {
  std::string decides, shadow;        // ids, "" for none
  std::vector<Candidate> candidates;  // whose scope holds, in order of precedence
  int decided_by = -1;                // which rule told the deciding policy from the next; -1: there was no other
};

// The rules by their number in the policy model: 1 level (11 with method before without), 2 priority, 3 dimensions,
// 31 narrowness, 4 version, 5 id. Negative: a comes first.
struct Comparison {
  int order = 0;
  int rule = 0;
};
Comparison compare(const Policy& a, const Policy& b);
int level_of(const Policy& policy);

Answer match(const Bundle& bundle, const std::vector<Condition>& conditions, const CheckRequest& request,
             std::int64_t now_us);

}  // namespace sluice::policy::reference
