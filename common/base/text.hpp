// Helps to write error messages.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

// `text` in quotes. A text of more than 64 bytes is cut between two characters and ends with an ellipsis.
std::string quoted(std::string_view text);

// `text` with its control characters written as \n or \u001b, and bytes that are not UTF-8 as \xff: one line of UTF-8
// that shows what it holds, also on a terminal.
std::string visible(std::string_view text);

// Returns the known name that a misspelt `name` most likely means, or "". The two names differ by at most two typing
// errors, or by at most one if `name` has 2 to 4 bytes. A missing beginning ("ip" for "source_ip"), a missing or
// additional ending, and a plural are one error.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

// The names that a misspelt `name` most likely means, the nearest first: at most three. Compares only as many of the
// offered names as take a fraction of a millisecond.
class NearestNames {
 public:
  // REQUIRES: `name` and the offered names outlive this object.
  explicit NearestNames(std::string_view name) : name_(name) {}

  void offer(std::string_view known);
  std::span<const std::string_view> names() const { return {names_.data(), count_}; }

 private:
  static constexpr std::size_t kMost = 3;

  std::string_view name_;
  std::array<std::string_view, kMost> names_;
  std::array<std::size_t, kMost> errors_{};  // of each name
  std::size_t count_ = 0;
  std::size_t effort_ = 0;  // pairs of characters compared so far
};

// ` Did you mean "a" or "b"?`, or "" without names.
std::string did_you_mean(std::span<const std::string_view> names);

}  // namespace sluice
