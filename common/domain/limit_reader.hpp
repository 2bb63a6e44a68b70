// Reads the algorithm and the numbers of one limit.
#pragma once

#include <optional>
#include <string_view>

#include "common/domain/algorithm.hpp"
#include "common/json/fields.hpp"

namespace sluice {

class LimitReader {
 public:
  LimitReader(json::Fields& fields, Limit& limit) : fields_(fields), limit_(limit) {}

  void read();

  // REQUIRES: limit_.algorithm is set.
  void read_bucket();
  void read_gcra();
  void read_align();
  void read_window();
  void read_leases();
  void read_quota();

 private:
  void read_unit();
  // `foreign`: other limiters' names are a fault already, so an absent algorithm is none.
  std::optional<const AlgorithmTraits*> read_algorithm(bool foreign);
  void check_belongs(std::string_view field, const AlgorithmTraits* traits);
  void read_limit(std::string_view why);
  void read_bucket_of_window();

  json::Fields& fields_;
  Limit& limit_;
  std::string_view limit_name_ = "limit";  // the field that gave Limit::limit, for faults
};

// Values of AlgorithmTraits::read.
void read_bucket(LimitReader& reader);
void read_gcra(LimitReader& reader);  // makes a token_bucket with `burst` as its capacity
void read_window(LimitReader& reader);
void read_fixed_window(LimitReader& reader);
void read_leases(LimitReader& reader);
void read_quota(LimitReader& reader);

}  // namespace sluice
