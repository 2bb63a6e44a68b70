// Two tables: one row for each algorithm, and one row for each kind of limit (kind.hpp). The other code of this folder
// reads them, so it does not depend on which algorithms exist. lua/check/ has the same algorithms as parts of a script.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// How limits of one kind are judged and charged. Their state is either a few values in the counter key, or entries
// under a key of their own. For a kind with entries, `make_entries` and `key_mark` are set, and `judge` and `charge`
// are not. p and q below: see Rule in program.hpp.
struct KindTraits {
  Kind kind = Kind::token_bucket;
  std::string_view name{};    // shown to people
  std::uint32_t values = 0;   // doubles in the state, at most 3
  bool periodic = false;      // p and q are the bounds of a period; each call brings them
  bool takes_leases = false;  // its entries are a LeaseSet: a charge takes a lease, which can be released and renewed

  // Updates the values from `last`, the time of the last charge, to `now` ≥ last, and judges. Times are in µs.
  Judged (*judge)(const Terms& terms, double* values, double now, double last) = nullptr;
  // Charges `charge` units (0: reports only) to values that `judge` has updated. `allowed`: all limits that are judged
  // together admit.
  Charged (*charge)(const Terms& terms, double* values, double now, double charge, bool allowed) = nullptr;
  // Whether a cost above the limit can still be admitted. nullptr: never.
  bool (*exceeds)(const Terms& terms) = nullptr;

  std::string_view key_mark{};  // the key of the entries is: counter key, this mark, the limit's name
  std::unique_ptr<Entries> (*make_entries)() = nullptr;

  // Computes q from the limit, p and the counter id. nullptr: the kind's q is independent of them. When an override
  // replaces one of the three, q is computed again.
  double (*derived_q)(double limit, double p, std::uint32_t counter_id) = nullptr;

  bool keeps_entries() const { return make_entries != nullptr; }
};

// How limits of one algorithm are compiled.
struct AlgorithmTraits {
  Algorithm algorithm = Algorithm::token_bucket;
  Kind kind = Kind::token_bucket;
  Kind with_debt = kind;   // the kind under action `delay`
  Kind from_first = kind;  // the kind with align `first`

  // Compute p and q. nullptr: the compiled number is 0, unless the kind has `derived_q`. A `periodic` kind gets both
  // numbers with each call.
  double (*p)(const Limit& limit) = nullptr;
  double (*q)(const Limit& limit) = nullptr;
  // Returns further text for counter_id() (program.hpp), beside the limit's name, algorithm and alignment.
  std::string (*counter_text)(const Limit& limit) = nullptr;
  bool aligned = false;  // the alignment is part of the counter id
};

std::span<const KindTraits> all_kinds();
const KindTraits& traits_of(Kind kind);
const AlgorithmTraits& traits_of(Algorithm algorithm);

// The kind by which the limit is judged. `with_debt`: the action is `delay`.
Kind kind_of(const Limit& limit, bool with_debt);

// Judges and charges by the kind's functions. REQUIRES: a kind without entries.
Judged judge(const Terms& terms, double* values, double now, double last);
Charged charge(const Terms& terms, double* values, double now, double charge, bool allowed);

// Returns true if the limit denies the cost however long the caller waits. REQUIRES: the limit denies it now.
bool never_fits(const Terms& terms);

}  // namespace sluice::limiter
