#include "common/sync/saved_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace sluice::sync {
namespace {

constexpr std::string_view kFormat = "sluice-state/v2";
constexpr std::string_view kOlderFormat = "sluice-state/v1";
constexpr std::string_view kNone = "-";      // written for an id that is ""
constexpr std::size_t kLineBytes = 256;      // estimated size of an object's line; each word must be shorter
constexpr std::size_t kLeastLineBytes = 80;  // smallest size of an object's line

std::string_view shown(std::string_view id) { return id.empty() ? kNone : id; }
std::string_view id_from(std::string_view word) { return word == kNone ? std::string_view() : word; }

// Reads words from the front of a text. Each function returns nullopt if the text has another form.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text), rest_(text) {}

  std::size_t offset() const { return text_.size() - rest_.size(); }
  bool at_end() const { return rest_.empty(); }

  // The text up to `end`.
  std::optional<std::string_view> word(char end) {
    const std::size_t size = rest_.substr(0, kLineBytes).find(end);
    if (size == std::string_view::npos) return std::nullopt;
    return take(size);
  }

  // The text between `name` and `end`.
  std::optional<std::string_view> named(std::string_view name, char end) {
    if (!rest_.starts_with(name)) return std::nullopt;
    rest_.remove_prefix(name.size());
    return word(end);
  }

  // The next `size` bytes. A line end must follow.
  std::optional<std::string_view> bytes(std::size_t size) {
    if (size >= rest_.size() || rest_[size] != '\n') return std::nullopt;
    return take(size);
  }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size + 1);
    return word;
  }

  std::string_view text_;
  std::string_view rest_;
};

template <class Number>
std::optional<Number> number_of(std::optional<std::string_view> word) {
  Number number = 0;
  if (!word) return std::nullopt;
  const auto [after, code] = std::from_chars(word->data(), word->data() + word->size(), number);
  if (code != std::errc{} || after != word->data() + word->size() || number < 0) return std::nullopt;
  return number;
}

// Reads the first line into `saved` and returns the number of objects that follow.
std::optional<std::size_t> read_head(Words& words, SavedState& saved) {
  const auto format = words.word(' ');
  if (format != kFormat && format != kOlderFormat) return std::nullopt;
  saved.is_complete = format == kFormat;
  const auto token_id = words.named("token=", ' ');
  const auto revision = number_of<std::int64_t>(words.named("revision=", ' '));
  const auto chain = words.named("chain=", ' ');
  const auto count = number_of<std::int64_t>(words.named("objects=", '\n'));
  if (!token_id || !revision || !chain || !is_chain(*chain) || !count) return std::nullopt;
  saved.head = {.revision = *revision, .chain = std::string(*chain)};
  saved.token_id = id_from(*token_id);
  return static_cast<std::size_t>(*count);
}

std::optional<ObjectView> read_object(Words& words, Sha256Digest& hash) {
  const auto kind_name = words.word(' ');
  const auto tenant_id = words.word(' ');
  const auto id = words.word(' ');
  const auto size = number_of<std::int64_t>(words.word(' '));
  const auto hex = words.word('\n');
  if (!kind_name || !tenant_id || !id || !size || !hex || !from_hex(*hex, hash)) return std::nullopt;
  const auto document = words.bytes(static_cast<std::size_t>(*size));
  const auto kind = synced_kind_from(*kind_name);
  if (!document || !kind) return std::nullopt;
  const ObjectIdView object_id{*kind, id_from(*tenant_id), id_from(*id)};
  if (check_id(object_id)) return std::nullopt;
  return ObjectView{.id = object_id, .document = *document};
}

std::unexpected<Error> malformed(const Words& words) {
  return failure("state_malformed",
                 fmt::format("not a state file of this version, or damaged at byte {}", words.offset()));
}

}  // namespace

std::string write_state(const ScopeState& state) {
  std::string out;
  out.reserve(kLineBytes + state.objects.document_bytes() + state.objects.size() * kLineBytes);
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{} token={} revision={} chain={} objects={}\n", kFormat, shown(state.token_id),
                 state.head.revision, state.head.chain, state.objects.size());
  state.objects.for_each([&](const ObjectPtr& object) {
    const ObjectIdView id = object->id();
    fmt::format_to(to, "{} {} {} {} ", info(id.kind).sync_name, shown(id.tenant_id), shown(id.id),
                   object->document().size());
    append_hex(object->hash(), out);
    out.append("\n").append(object->document()).append("\n");
  });
  return out;
}

Result<SavedState> read_state(std::string_view text) {
  Words words(text);
  SavedState saved;
  const auto count = read_head(words, saved);
  if (!count) return malformed(words);
  const std::size_t capacity = std::min(*count, text.size() / kLeastLineBytes + 1);
  saved.objects.reserve(capacity);
  saved.hashes.reserve(capacity);
  for (std::size_t left = *count; left > 0; --left) {
    const auto object = read_object(words, saved.hashes.emplace_back());
    if (!object || (!saved.objects.empty() && saved.objects.back().id >= object->id)) return malformed(words);
    saved.objects.push_back(*object);
  }
  if (!words.at_end()) return malformed(words);
  return saved;
}

ScopeState restore(const SavedState& saved) {
  std::vector<Edit> objects;
  objects.reserve(saved.objects.size());
  for (std::size_t i = 0; i < saved.objects.size(); ++i) {
    objects.emplace_back(
        std::make_shared<const Object>(saved.objects[i].id, saved.objects[i].document, saved.hashes[i]));
  }
  return {.head = saved.head, .objects = ObjectSet().with(std::move(objects)), .token_id = saved.token_id};
}

}  // namespace sluice::sync
