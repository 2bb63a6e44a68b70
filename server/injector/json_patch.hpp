// A JSON patch in the making (RFC 6902).
//
// Thread safety: none. The operations apply in the order in which they were added.
#pragma once

#include <string>
#include <string_view>

#include "common/domain/json_tree.hpp"

namespace sluice::server::injector {

class JsonPatch {
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

// `parent` and, behind a slash, one more part of a pointer (RFC 6901).
std::string pointer_to(std::string_view parent, std::string_view part);
std::string pointer_to(std::string_view parent, std::size_t index);

// Whether `actual` says what `wanted` says: objects may hold more (the API server fills in defaults), lists are equal
// item by item in this sense, all else is equal.
bool covers(const JsonValue& actual, const JsonValue& wanted);

}  // namespace sluice::server::injector
