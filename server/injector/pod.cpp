#include "server/injector/pod.hpp"

#include <charconv>

#include "server/injector/names.hpp"

namespace sluice::server::injector {

const JsonValue* member(const JsonValue* object, std::string_view name) {
  if (object == nullptr) return nullptr;
  const JsonValue* const found = object->find(name);
  return found != nullptr && found->type() != JsonType::null ? found : nullptr;
}

std::string_view text_member(const JsonValue* object, std::string_view name) {
  const JsonValue* const found = member(object, name);
  return found != nullptr && found->type() == JsonType::string ? found->text() : std::string_view();
}

std::span<JsonValue> items(const JsonValue* object, std::string_view name) {
  const JsonValue* const found = member(object, name);
  return found != nullptr && found->type() == JsonType::array ? found->items() : std::span<JsonValue>();
}

bool is_true(const JsonValue* object, std::string_view name) {
  const JsonValue* const found = member(object, name);
  return found != nullptr && found->type() == JsonType::boolean && found->boolean();
}

std::optional<std::int64_t> integer_member(const JsonValue* object, std::string_view name) {
  const JsonValue* const found = member(object, name);
  if (found == nullptr || found->type() != JsonType::number) return std::nullopt;
  const std::string_view text = found->text();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::size_t> find_item(std::span<const JsonValue> list, std::string_view key, std::string_view value) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (text_member(&list[i], key) == value) return i;
  }
  return std::nullopt;
}

std::string_view Pod::name() const {
  const std::string_view name = text_member(metadata_, "name");
  return name.empty() ? text_member(metadata_, "generateName") : name;
}

std::optional<std::size_t> Pod::sidecar() const {
  if (annotation(kInjected) == nullptr) return std::nullopt;
  return find_item(init_containers(), "name", kContainer);
}

}  // namespace sluice::server::injector
