// Counters for Prometheus that take no lock: counting is one relaxed atomic addition. Thread-safe.
#pragma once

#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/telemetry/instrument.hpp"
#include "common/telemetry/label_bounds.hpp"

namespace sluice::telemetry {

// A counter with one label. Samples of all label values are exposed from the start, at 0.
class CounterVector final : public Instrument {
 public:
  // REQUIRES: `its_spec` has one label, and lists the label's values.
  explicit CounterVector(MetricSpec its_spec)
      : Instrument(std::move(its_spec)), counts_(spec().labels.front().values.size()) {}

  // REQUIRES: `index` is an index into the list of the label's values.
  void count(std::size_t index) noexcept {
    assert(index < counts_.size());
    counts_[index].fetch_add(1, std::memory_order_relaxed);
  }

  std::uint64_t value(std::size_t index) const noexcept { return counts_[index].load(std::memory_order_relaxed); }
  std::uint64_t sum() const noexcept;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::vector<std::atomic<std::uint64_t>> counts_;
};

// A counter with the tenant as its label, or with two labels: the tenant, and another with a fixed list of values.
// Without a tenant, all samples are exposed from the start, at 0; with a tenant, those that were counted. Tenants
// beyond kMaxTenants share a row.
class TenantCounters final : public Instrument {
 public:
  class Row {
   public:
    explicit Row(std::size_t values) : counts_(values) {}
    // REQUIRES: `index` is an index into the list of the second label's values; 0 if there is one label.
    void count(std::size_t index) noexcept { counts_[index].fetch_add(1, std::memory_order_relaxed); }

   private:
    friend class TenantCounters;
    std::vector<std::atomic<std::uint64_t>> counts_;
  };

  // REQUIRES: `its_spec` has one label, or two and lists the values of the second.
  explicit TenantCounters(MetricSpec its_spec) : Instrument(std::move(its_spec)) { row({}); }

  // The id comes from the snapshot, never from a request; "" where no tenant is known. Takes a lock, so do not call
  // this function for each check. The row lives as long as the TenantCounters.
  Row& row(std::string_view tenant);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable std::mutex mutex_;  // guards the members below
  TenantValues tenants_;
  std::map<std::string, std::unique_ptr<Row>, std::less<>> rows_;
};

// `sluice_http_requests_total{route,status}`: replies by route template and status.
class HttpCounters final : public Instrument {
 public:
  // The last route template is for requests whose path matches no route.
  explicit HttpCounters(std::vector<std::string> routes);

  // REQUIRES: `route` is an index into the list of route templates. A status outside 100 to 599 counts as 500.
  void count(std::size_t route, unsigned status) noexcept {
    assert(route < counts_.size());
    const unsigned index = status >= kFirst && status < kFirst + kStatuses ? status - kFirst : 500 - kFirst;
    counts_[route][index].fetch_add(1, std::memory_order_relaxed);
  }

  // Calls `use(route template, status, count)` for what was counted.
  template <class Use>
  void for_each(Use use) const {
    const std::vector<std::string>& routes = spec().labels.front().values;
    for (std::size_t route = 0; route < counts_.size(); ++route) {
      for (unsigned i = 0; i < kStatuses; ++i) {
        const std::uint64_t count = counts_[route][i].load(std::memory_order_relaxed);
        if (count > 0) use(routes[route], kFirst + i, count);
      }
    }
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  static constexpr unsigned kFirst = 100;
  static constexpr unsigned kStatuses = 500;

  std::vector<std::array<std::atomic<std::uint64_t>, kStatuses>> counts_;
};

}  // namespace sluice::telemetry
