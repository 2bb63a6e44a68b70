// Writes JSON patches (RFC 6902), and checks whether a value needs one.
//
// Thread safety: none.
#pragma once

#include <string>
#include <string_view>

#include "common/json/tree.hpp"

namespace sluice::json {

class Patch {
 public:
  // `value` is JSON text.
  void add(std::string_view pointer, std::string_view value) { write("add", pointer, value); }
  void replace(std::string_view pointer, std::string_view value) { write("replace", pointer, value); }
  void remove(std::string_view pointer) { write("remove", pointer, {}); }

  bool empty() const { return operations_.empty(); }
  std::string take() && { return operations_.empty() ? std::string() : operations_ + ']'; }

 private:
  void write(std::string_view operation, std::string_view pointer, std::string_view value);

  std::string operations_;
};

// Whether `actual` equals `wanted`, apart from extra members in objects of `actual`. The API server of Kubernetes adds
// such members as defaults.
bool covers(const Value& actual, const Value& wanted);

}  // namespace sluice::json
