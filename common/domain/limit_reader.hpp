// Reads the algorithm and the numbers of one limit. Internal to limit_fields.cpp and to the table of algorithms, whose
// rows say how the numbers of each are read.
#pragma once

#include <optional>
#include <string_view>

#include "common/domain/algorithm.hpp"
#include "common/json/fields.hpp"

namespace sluice {

// Keeps the names of the fields that gave the numbers for faults in how the numbers fit together.
class LimitReader {
 public:
  LimitReader(json::Fields& fields, Limit& limit) : fields_(fields), limit_(limit) {}

  void read();

  // The numbers of limit_, whose algorithm is set.
  void read_bucket();
  void read_gcra();
  void read_align();
  void read_window();
  void read_leases();
  void read_quota();

 private:
  void read_unit();
  std::optional<const AlgorithmTraits*> read_algorithm();
  void check_belongs(std::string_view field, const AlgorithmTraits* traits);
  void read_limit(std::string_view why);
  void read_bucket_of_window();

  json::Fields& fields_;
  Limit& limit_;
  std::string_view limit_name_ = "limit";
};

void read_bucket(LimitReader& reader);
void read_gcra(LimitReader& reader);  // stored as a token_bucket: burst is its capacity
void read_window(LimitReader& reader);
void read_fixed_window(LimitReader& reader);
void read_leases(LimitReader& reader);
void read_quota(LimitReader& reader);

}  // namespace sluice
