// Tables with one row for each algorithm, and one row for each kind of limit (kind.hpp), so that other code need not
// know which algorithms exist.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// How limits of one kind are judged and charged. A limit's counter is either a few values, which `judge` and `charge`
// update, or entries (made by `make_entries`) under a key of their own. p and q below: see Rule in program.hpp.
struct KindTraits {
  Kind kind = Kind::token_bucket;
  std::string_view name{};   // shown to people
  std::uint32_t values = 0;  // number of values, at most 3
  bool periodic = false;     // p and q are the bounds of a period, and come with each call
  bool takes_leases = false;

  // Updates the values from `last`, the time of the last charge, to `now` ≥ last, and judges. Times are in µs.
  Judged (*judge)(const Terms& terms, double* values, double now, double last) = nullptr;
  // Charges `charge` units to values that `judge` has updated. With 0 units, only reports. `allowed`: all limits that
  // are judged together admit the cost.
  Charged (*charge)(const Terms& terms, double* values, double now, double charge, bool allowed) = nullptr;
  // Whether a cost above the limit can be admitted. nullptr: never.
  bool (*exceeds)(const Terms& terms) = nullptr;

  std::string_view key_mark{};  // the key of the entries is: counter key, this mark, the limit's name
  std::unique_ptr<Entries> (*make_entries)() = nullptr;

  // Set for kinds whose q depends on numbers that an override can replace.
  double (*derived_q)(double limit, double p, std::uint32_t counter_id) = nullptr;

  bool keeps_entries() const { return make_entries != nullptr; }
};

// How limits are compiled.
struct AlgorithmTraits {
  Algorithm algorithm = Algorithm::token_bucket;
  Kind kind = Kind::token_bucket;
  Kind with_debt = kind;   // the kind under action `delay`
  Kind from_first = kind;  // the kind with align `first`

  // Compute Rule::p and Rule::q. nullptr: the value is 0, unless it is the q of a kind with `derived_q`.
  double (*p)(const Limit& limit) = nullptr;
  double (*q)(const Limit& limit) = nullptr;
  // Further text for counter_id() (program.hpp).
  std::string (*counter_text)(const Limit& limit) = nullptr;
  bool aligned = false;  // the alignment is part of the counter id
};

std::span<const KindTraits> all_kinds();
const KindTraits& traits_of(Kind kind);
const AlgorithmTraits& traits_of(Algorithm algorithm);

// `with_debt`: the action is `delay`.
Kind kind_of(const Limit& limit, bool with_debt);

// REQUIRES: a kind without entries.
Judged judge(const Terms& terms, double* values, double now, double last);
Charged charge(const Terms& terms, double* values, double now, double charge, bool allowed);

// Whether the limit denies the cost now. `judged`: by judge(), or by the limit's entries.
bool denies(const Terms& terms, const Judged& judged);
// Whether the limit denies the cost however long the caller waits. REQUIRES: the limit denies the cost now.
bool never_fits(const Terms& terms);

}  // namespace sluice::limiter
