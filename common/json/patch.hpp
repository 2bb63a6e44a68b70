// Writes JSON patches (RFC 6902), and checks whether a JSON value already has the wanted content.
//
// Thread safety: none.
#pragma once

#include <string>
#include <string_view>

#include "common/json/tree.hpp"

namespace sluice::json {

// A list of operations, which apply in the order they were added.
class Patch {
 public:
  // `pointer` is a JSON pointer (pointer.hpp). `value` is JSON text.
  void add(std::string_view pointer, std::string_view value) { write("add", pointer, value); }
  void replace(std::string_view pointer, std::string_view value) { write("replace", pointer, value); }
  void remove(std::string_view pointer) { write("remove", pointer, {}); }

  bool empty() const { return operations_.empty(); }
  std::string take() && { return operations_.empty() ? std::string() : operations_ + ']'; }  // "": no operations

 private:
  void write(std::string_view operation, std::string_view pointer, std::string_view value);

  std::string operations_;
};

// Whether `actual` contains everything in `wanted`. Objects of `actual` may have more members, because the API server
// of Kubernetes fills in defaults. Lists must have the same length and match item by item. All other values must be
// equal.
bool covers(const Value& actual, const Value& wanted);

}  // namespace sluice::json
