#include "common/limiter/traits.hpp"

#include <array>

#include "common/limiter/algorithms/bucket.hpp"
#include "common/limiter/algorithms/entry_log.hpp"
#include "common/limiter/algorithms/fixed_window.hpp"
#include "common/limiter/algorithms/lease_set.hpp"
#include "common/limiter/algorithms/quota.hpp"
#include "common/limiter/algorithms/sliding_window.hpp"

namespace sluice::limiter {
namespace {

constexpr std::array kKindRows{
    KindTraits{.kind = Kind::token_bucket,
               .name = "token_bucket",
               .values = 1,
               .judge = &judge_bucket,
               .charge = &charge_bucket},
    KindTraits{.kind = Kind::leaky_bucket,
               .name = "leaky_bucket",
               .values = 1,
               .judge = &judge_bucket,
               .charge = &charge_bucket},
    KindTraits{.kind = Kind::bucket_with_debt,
               .name = "bucket with debt",
               .values = 1,
               .judge = &judge_bucket,
               .charge = &charge_bucket,
               .exceeds = &fits_in_debt},
    KindTraits{.kind = Kind::fixed_window,
               .name = "fixed_window",
               .values = 1,
               .judge = &judge_fixed_window,
               .charge = &charge_fixed_window},
    KindTraits{.kind = Kind::first_window,
               .name = "fixed_window, first",
               .values = 2,
               .judge = &judge_first_window,
               .charge = &charge_first_window},
    KindTraits{.kind = Kind::sliding_window,
               .name = "sliding_window",
               .values = 2,
               .judge = &judge_sliding_window,
               .charge = &charge_sliding_window,
               .derived_q = &sliding_tick_us},
    KindTraits{.kind = Kind::quota,
               .name = "quota",
               .values = 1,
               .periodic = true,
               .judge = &judge_quota,
               .charge = &charge_quota},
    KindTraits{.kind = Kind::log,
               .name = "sliding_window_log",
               .key_mark = ":log=",
               .make_entries = &make_entry_log,
               .derived_q = &log_q},
    KindTraits{.kind = Kind::lease,
               .name = "concurrency",
               .takes_leases = true,
               .key_mark = ":lease=",
               .make_entries = &make_lease_set},
};

constexpr std::array kAlgorithmRows{
    AlgorithmTraits{.algorithm = Algorithm::token_bucket,
                    .kind = Kind::token_bucket,
                    .with_debt = Kind::bucket_with_debt,
                    .p = &bucket_p,
                    .q = &bucket_q},
    AlgorithmTraits{.algorithm = Algorithm::leaky_bucket,
                    .kind = Kind::leaky_bucket,
                    .with_debt = Kind::bucket_with_debt,
                    .p = &bucket_p,
                    .q = &bucket_q},
    AlgorithmTraits{.algorithm = Algorithm::fixed_window,
                    .kind = Kind::fixed_window,
                    .from_first = Kind::first_window,
                    .p = &window_p,
                    .counter_text = &window_text,
                    .aligned = true},
    AlgorithmTraits{.algorithm = Algorithm::sliding_window,
                    .kind = Kind::sliding_window,
                    .p = &window_p,
                    .counter_text = &window_text},
    AlgorithmTraits{
        .algorithm = Algorithm::sliding_window_log, .kind = Kind::log, .p = &window_p, .counter_text = &window_text},
    AlgorithmTraits{.algorithm = Algorithm::concurrency, .kind = Kind::lease, .p = &lease_p},
    AlgorithmTraits{.algorithm = Algorithm::quota, .kind = Kind::quota, .counter_text = &period_text},
};

template <auto& kRows, auto kKey>
consteval auto rows_by_enumerator() {
  std::array<std::uint8_t, 64> out{};
  out.fill(255);
  for (std::size_t i = 0; i < kRows.size(); ++i)
    out[static_cast<std::size_t>(kRows[i].*kKey)] = static_cast<std::uint8_t>(i);
  return out;
}
constexpr auto kRowOfKind = rows_by_enumerator<kKindRows, &KindTraits::kind>();
constexpr auto kRowOfAlgorithm = rows_by_enumerator<kAlgorithmRows, &AlgorithmTraits::algorithm>();

}  // namespace

std::span<const KindTraits> all_kinds() { return kKindRows; }

const KindTraits& traits_of(Kind kind) { return kKindRows[kRowOfKind[static_cast<std::size_t>(kind)]]; }

const AlgorithmTraits& traits_of(Algorithm algorithm) {
  return kAlgorithmRows[kRowOfAlgorithm[static_cast<std::size_t>(algorithm)]];
}

Kind kind_of(const Limit& limit, bool with_debt) {
  const AlgorithmTraits& traits = traits_of(limit.algorithm);
  if (traits.aligned && limit.align == Align::first) return traits.from_first;
  return with_debt ? traits.with_debt : traits.kind;
}

Judged judge(const Terms& terms, double* values, double now, double last) {
  return traits_of(terms.kind).judge(terms, values, now, last);
}

Charged charge(const Terms& terms, double* values, double now, double charge, bool allowed) {
  return traits_of(terms.kind).charge(terms, values, now, charge, allowed);
}

bool denies(const Terms& terms, const Judged& judged) {
  return terms.cost > 0 && (judged.over > 0 || terms.limit == 0);
}

bool never_fits(const Terms& terms) {
  if (terms.limit == 0) return true;
  if (terms.cost <= terms.limit) return false;
  const auto exceeds = traits_of(terms.kind).exceeds;
  return exceeds == nullptr || !exceeds(terms);
}

}  // namespace sluice::limiter
