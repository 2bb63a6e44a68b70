// A cell: the counters of one counter key, in memory. It also has the logs and leases of the key's limits. In Redis,
// logs and leases have keys of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/limiter/counter_store.hpp"
#include "common/limiter/traits.hpp"

namespace sluice::limiter {

struct KeptEntries {
  Kind kind = Kind::log;
  std::string limit_name;
  std::unique_ptr<Entries> entries;
};

// While an override replaces the window of a limit, the plan's own counter is parked here. It is charged too, and
// judges again when the override ends.
struct ParkedCounter {
  std::uint32_t counter_id = 0;
  double until_us = 0;  // untouched from then on
  std::array<double, 2> values{};
};

// The part of a cell that only some keys need.
struct CellExtras {
  std::vector<double> values;  // `values` and `ids` hold all counters, if the cell has no room for them
  std::vector<std::uint32_t> ids;
  std::vector<OverrideEntry> overrides;
  std::vector<ParkedCounter> parked;
  std::vector<KeptEntries> kept;

  bool empty() const { return ids.empty() && overrides.empty() && parked.empty() && kept.empty(); }

  std::size_t bytes() const {  // roughly
    std::size_t sum = sizeof *this + values.capacity() * sizeof(double) + ids.capacity() * sizeof(std::uint32_t) +
                      overrides.capacity() * sizeof(OverrideEntry) + parked.capacity() * sizeof(ParkedCounter) +
                      kept.capacity() * sizeof(KeptEntries);
    for (const KeptEntries& each : kept) sum += each.limit_name.capacity() + each.entries->bytes();
    return sum;
  }

  Entries* find(Kind kind, std::string_view limit_name) const {
    const auto found = std::ranges::find_if(
        kept, [&](const KeptEntries& each) { return each.kind == kind && each.limit_name == limit_name; });
    return found == kept.end() ? nullptr : found->entries.get();
  }
  // Makes the entries if the limit has none. REQUIRES: a kind that keeps entries.
  Entries& entries(Kind kind, std::string_view limit_name) {
    if (Entries* const found = find(kind, limit_name)) return *found;
    return *kept.emplace_back(kind, std::string(limit_name), traits_of(kind).make_entries()).entries;
  }
};

// The cell itself has room for two counters and for two values, so most keys need one cache line.
class Cell {
 public:
  double time = 0;                                              // of the last charge, µs
  double expires_ms = std::numeric_limits<double>::infinity();  // wall clock; infinity: never

  // The low two bits of a counter's id are the number of its values.
  std::span<const std::uint32_t> ids() const {
    if (inside()) return {ids_.data(), id_count_};
    return extras_->ids;
  }
  std::span<const double> values() const {
    if (inside()) return {values_.data(), value_count_};
    return extras_->values;
  }
  void set_counters(std::span<const std::uint32_t> ids, std::span<const double> values) {
    if (ids.size() <= ids_.size() && values.size() <= values_.size()) {
      id_count_ = static_cast<std::uint8_t>(ids.size());
      value_count_ = static_cast<std::uint8_t>(values.size());
      std::ranges::copy(ids, ids_.begin());
      std::ranges::copy(values, values_.begin());
    } else {
      extras().ids.assign(ids.begin(), ids.end());
      extras().values.assign(values.begin(), values.end());
      id_count_ = kElsewhere;
    }
  }

  // The values of a cell without extras, to be changed.
  std::span<double> plain_values() { return {values_.data(), value_count_}; }

  CellExtras* existing_extras() { return extras_.get(); }
  CellExtras& extras() {
    if (!extras_) extras_ = std::make_unique<CellExtras>();
    return *extras_;
  }
  std::span<const OverrideEntry> overrides() const {
    if (!extras_) return {};
    return extras_->overrides;
  }
  // The values of a counter, or nullptr if the cell has no counter with this id.
  const double* find(std::uint32_t counter_id) const {
    const double* found = values().data();
    for (const std::uint32_t each : ids()) {
      if (each == counter_id) return found;
      found += each % 4;
    }
    return nullptr;
  }
  const double* find_parked(std::uint32_t counter_id, double now_us) const {
    if (!extras_) return nullptr;
    for (const ParkedCounter& each : extras_->parked) {
      if (each.counter_id == counter_id && each.until_us > now_us) return each.values.data();
    }
    return nullptr;
  }

  // Makes each log one entry smaller, if it can (Entries::merge_newest()).
  void merge_newest() {
    if (!extras_) return;
    for (const KeptEntries& each : extras_->kept) each.entries->merge_newest();
  }

  // Roughly the memory beyond the cell's own size.
  std::size_t extra_bytes() const { return extras_ ? extras_->bytes() : 0; }

  // Overrides stay.
  void reset() {
    time = 0;
    layout = 0;
    if (extras_) {
      extras_->ids.clear();
      extras_->values.clear();
      extras_->parked.clear();
      extras_->kept.clear();
      if (extras_->empty()) extras_.reset();
    }
    id_count_ = value_count_ = 0;
  }

  // As in Redis, counters are forgotten in the millisecond after their expiry.
  void forget_expired(double now_us) {
    if (now_us >= (expires_ms + 1) * 1000) forget_counters();
    if (extras_) forget_extras(now_us / 1000);
  }
  bool empty() const { return id_count_ == 0 && !extras_; }

 private:
  void forget_counters() {
    time = 0;
    layout = 0;
    expires_ms = std::numeric_limits<double>::infinity();
    if (extras_) {
      extras_->ids.clear();
      extras_->values.clear();
      extras_->overrides.clear();
      extras_->parked.clear();
    }
    set_counters({}, {});
  }
  void forget_extras(double now_ms) {
    std::erase_if(extras_->kept, [&](const KeptEntries& each) {
      return each.entries->empty() || now_ms >= each.entries->expires_ms() + 1;
    });
    if (inside()) {
      extras_->ids.clear();
      extras_->values.clear();
    }
    if (extras_->empty()) extras_.reset();
  }

  std::unique_ptr<CellExtras> extras_;
  std::array<double, 2> values_;
  std::array<std::uint32_t, 2> ids_;

 public:
  // The Group::layout (program.hpp) of the counters. 0: there are none, or an override has replaced a counter id.
  std::uint32_t layout = 0;

 private:
  static constexpr std::uint8_t kElsewhere = 255;
  bool inside() const { return id_count_ != kElsewhere; }

  std::uint8_t id_count_ = 0;  // kElsewhere: all counters are in extras_
  std::uint8_t value_count_ = 0;
};

}  // namespace sluice::limiter
