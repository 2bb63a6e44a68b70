// Structs of the C interface to those of the C++ interface, and back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/engine.hpp"
#include "sluice/sluice.h"

namespace sluice::lib {

inline std::string_view view_of(const sluice_text& text) noexcept {
  return {text.data, text.data == nullptr ? 0 : text.size};
}
inline sluice_text text_of(std::string_view text) noexcept { return {text.data(), text.size()}; }

inline v1::Named convert(const sluice_named& from) noexcept { return {view_of(from.name), view_of(from.value)}; }
inline v1::Amount convert(const sluice_amount& from) noexcept { return {view_of(from.name), from.value}; }
inline sluice_named convert(const v1::Named& from) noexcept { return {text_of(from.name), text_of(from.value)}; }
inline sluice_amount convert(const v1::Amount& from) noexcept { return {text_of(from.name), from.value}; }

// Elements of the one interface as those of the other. A few of them take no memory. Not movable, because spans point
// into it.
template <class To>
class Converted {
 public:
  Converted() noexcept {}  // leaves the bytes as they are: a check without tags does not pay for them
  Converted(const Converted&) = delete;
  Converted& operator=(const Converted&) = delete;

  // Valid as long as this object. Throws std::bad_alloc.
  template <class From>
  std::span<const To> of(std::span<const From> from) {
    To* to = reinterpret_cast<To*>(few_);
    if (from.size() > kFew) {
      many_.resize(from.size());
      to = many_.data();
    }
    for (std::size_t i = 0; i < from.size(); ++i) std::construct_at(to + i, convert(from[i]));
    return {to, from.size()};
  }

 private:
  static constexpr std::size_t kFew = 8;
  alignas(To) std::byte few_[kFew * sizeof(To)];
  std::vector<To> many_;
};

// A caller's request as the engine takes it. Lives until the check is answered.
class RequestFromC {
 public:
  // `status` is not ok if the request cannot be read. Throws std::bad_alloc.
  RequestFromC(const sluice_request& request, v1::Status& status);

  const v1::Request& request() const { return request_; }

 private:
  v1::Request request_;
  Converted<v1::Named> tags_, attributes_;
  Converted<v1::Amount> costs_, limits_;
};

// The engine's request as a hook of C gets it.
class RequestToC {
 public:
  explicit RequestToC(const v1::Request& request);  // throws std::bad_alloc
  const sluice_request& request() const { return request_; }

 private:
  sluice_request request_;
  Converted<sluice_named> tags_, attributes_;
  Converted<sluice_amount> costs_, limits_;
};

// Whether a check can fill this struct.
bool can_hold_decision(const sluice_decision& decision) noexcept;
// The object that the texts of a caller's struct point into; nullptr: there is none yet.
inline v1::Decision* memory_of(const sluice_decision& decision) noexcept {
  return static_cast<v1::Decision*>(decision.memory);
}
// Makes the caller's struct show `from`. Its struct_size and memory stay. REQUIRES: can_hold_decision(to).
void show(const v1::Decision& from, sluice_decision& to) noexcept;

}  // namespace sluice::lib
