// A list of header fields in one buffer, which keeps its memory.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::http2 {

struct Field {
  std::string_view name;  // in lower case
  std::string_view value;
};

class Fields {
 public:
  void add(std::string_view name, std::string_view value) {
    slots_.push_back({text_.size(), name.size(), value.size()});
    text_.append(name).append(value);
  }

  std::size_t size() const { return slots_.size(); }
  bool empty() const { return slots_.empty(); }
  // The views are valid until the next add() or clear().
  Field operator[](std::size_t index) const {
    const Slot& slot = slots_[index];
    const std::string_view text(text_);
    return {text.substr(slot.at, slot.name), text.substr(slot.at + slot.name, slot.value)};
  }

  // The value of the first field with this name; "" if there is none.
  std::string_view find(std::string_view name) const {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (const Field field = (*this)[i]; field.name == name) return field.value;
    }
    return {};
  }

  void clear() {
    slots_.clear();
    text_.clear();
  }

 private:
  struct Slot {
    std::size_t at;
    std::size_t name;  // sizes
    std::size_t value;
  };

  std::string text_;
  std::vector<Slot> slots_;
};

}  // namespace sluice::http2
