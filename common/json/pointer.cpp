#include "common/json/pointer.hpp"

namespace sluice::json {

void append_pointer(std::string& pointer, std::string_view name) {
  pointer += '/';
  for (const char c : name) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

void append_pointer(std::string& pointer, std::size_t index) { pointer.append("/").append(std::to_string(index)); }

std::string pointer_to(std::string_view parent, std::string_view name) {
  std::string pointer(parent);
  append_pointer(pointer, name);
  return pointer;
}

std::string pointer_to(std::string_view parent, std::size_t index) {
  std::string pointer(parent);
  append_pointer(pointer, index);
  return pointer;
}

std::string unescaped_step(std::string_view step) {
  std::string name;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const bool escapes = step[i] == '~' && i + 1 < step.size();
    name += !escapes ? step[i] : step[++i] == '1' ? '/' : '~';
  }
  return name;
}

}  // namespace sluice::json
