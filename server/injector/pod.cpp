#include "server/injector/pod.hpp"

#include <charconv>

#include "server/injector/names.hpp"

namespace sluice::server::injector {

const json::Value* member(const json::Value& object, std::string_view name) {
  const json::Value* const found = object.find(name);
  return found != nullptr && found->type() != json::Type::null ? found : nullptr;
}

std::optional<std::int64_t> integer_member(const json::Value& object, std::string_view name) {
  const json::Value found = object.get(name);
  if (found.type() != json::Type::number) return std::nullopt;
  const std::string_view text = found.text();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::size_t> find_item(std::span<const json::Value> list, std::string_view key, std::string_view value) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].text_of(key) == value) return i;
  }
  return std::nullopt;
}

std::string_view Pod::name() const {
  const std::string_view name = metadata_.text_of("name");
  return name.empty() ? metadata_.text_of("generateName") : name;
}

std::optional<std::size_t> Pod::sidecar() const {
  if (annotation(kInjected) == nullptr) return std::nullopt;
  return find_item(init_containers(), "name", kContainer);
}

}  // namespace sluice::server::injector
