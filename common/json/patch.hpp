// A JSON patch in the making (RFC 6902).
//
// Thread safety: none. The operations apply in the order in which they were added.
#pragma once

#include <string>
#include <string_view>

#include "common/json/tree.hpp"

namespace sluice::json {

class Patch {
 public:
  // `pointer`: with its parts escaped. `value`: JSON.
  void add(std::string_view pointer, std::string_view value) { write("add", pointer, value); }
  void replace(std::string_view pointer, std::string_view value) { write("replace", pointer, value); }
  void remove(std::string_view pointer) { write("remove", pointer, {}); }

  bool empty() const { return operations_.empty(); }
  std::string take() && { return operations_.empty() ? std::string() : operations_ + ']'; }  // "": nothing to do

 private:
  void write(std::string_view operation, std::string_view pointer, std::string_view value);

  std::string operations_;
};

// Whether `actual` says what `wanted` says: objects may hold more (the API server fills in defaults), lists are equal
// item by item in this sense, all else is equal.
bool covers(const Value& actual, const Value& wanted);

}  // namespace sluice::json
