// What memory keeps under one state key: as the script's state, with the logs and leases of its limits beside it.
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

// The entries of one limit, beside the counters of its key.
struct KeptEntries {
  Kind kind = Kind::log;
  std::string limit_name;
  std::unique_ptr<Entries> entries;
};

// What only some keys have.
struct CellExtras {
  std::vector<double> values;  // of more counters than the cell itself has room for
  std::vector<std::uint32_t> ids;
  std::vector<OverrideEntry> overrides;
  std::vector<KeptEntries> kept;

  bool empty() const { return ids.empty() && overrides.empty() && kept.empty(); }

  // nullptr where the limit has none.
  Entries* find(Kind kind, std::string_view limit_name) const {
    const auto found = std::ranges::find_if(
        kept, [&](const KeptEntries& each) { return each.kind == kind && each.limit_name == limit_name; });
    return found == kept.end() ? nullptr : found->entries.get();
  }
  // Makes them where there are none. REQUIRES: a kind that keeps entries.
  Entries& entries(Kind kind, std::string_view limit_name) {
    if (Entries* const found = find(kind, limit_name)) return *found;
    return *kept.emplace_back(kind, std::string(limit_name), traits_of(kind).make_entries()).entries;
  }
};

// Of a million cells hardly one is in a cache: the counters of the usual key are in the cell itself, and a look at it
// is a look at one cache line.
class Cell {
 public:
  double time = 0;  // of the last charge, µs
  double expires_ms = std::numeric_limits<double>::infinity();

  // The counters' ids and their values, one or two each (the id's low two bits).
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
      id_count_ = kElsewhere;
      extras().ids.assign(ids.begin(), ids.end());
      extras().values.assign(values.begin(), values.end());
    }
  }

  CellExtras* existing_extras() { return extras_.get(); }
  CellExtras& extras() {
    if (!extras_) extras_ = std::make_unique<CellExtras>();
    return *extras_;
  }
  std::span<const OverrideEntry> overrides() const {
    if (!extras_) return {};
    return extras_->overrides;
  }

  // Forgets all but the overrides.
  void reset() {
    time = 0;
    layout = 0;
    if (extras_) {
      extras_->ids.clear();
      extras_->values.clear();
      extras_->kept.clear();
      if (extras_->empty()) extras_.reset();
    }
    id_count_ = value_count_ = 0;
  }

  // Redis forgets a key in the millisecond after its expiry; here what is expired is forgotten when next touched or
  // swept.
  void forget_expired(double now_us) {
    const double now_ms = now_us / 1000;  // a fraction is no harm: expiries are whole milliseconds
    if (now_ms >= expires_ms + 1) forget_counters();
    if (extras_) forget_extras(now_ms);
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
  std::uint32_t layout = 0;

 private:
  static constexpr std::uint8_t kElsewhere = 255;
  bool inside() const { return id_count_ != kElsewhere; }

  std::uint8_t id_count_ = 0;  // of those in ids_; kElsewhere: the counters are in extras_
  std::uint8_t value_count_ = 0;
};

}  // namespace sluice::limiter
