// Pages of lists: reads `limit` and `cursor` from the query, and writes `items` and `next` into the answer.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/admin/answers.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

inline constexpr std::size_t kDefaultPage = 100;
inline constexpr std::size_t kMaxPage = 1000;

// Refuses 400 if `limit` or `cursor` is invalid.
store::Page read_page(const Call& call);

// The cursor of the page after the object with these ids. Lists of other things pass two texts that name an item.
std::string cursor_after(std::string_view tenant_id, std::string_view id);

// If there is a next page, store::list() has added its first object: removes that object, and returns the cursor of the
// next page. On the last page, returns "".
std::string cut_page(std::vector<store::StoredObject>& found, const store::Page& page);

[[noreturn]] void refuse_cursor();

// Refuses 400 if `value` is not one of `choices`.
void check_choice(std::string_view parameter, std::string_view value, std::span<const std::string_view> choices);
inline constexpr std::array<std::string_view, 3> kModeChoices{"enforce", "shadow", "off"};

// `next`: a cursor, or "" on the last page.
template <class WriteItems>
void write_list(json::Writer& out, const std::string& next, WriteItems write_items) {
  out.key("items");
  out.begin_list();
  write_items(out);
  out.end_list();
  next.empty() ? out.null_field("next") : out.field("next", next);
}

// Makes the answer {"items":[…],"next":…}.
template <class WriteItems>
Answer list_answer(const std::string& next, WriteItems write_items) {
  Answer answer;
  answer.object = open_object();
  write_list(*answer.object, next, write_items);
  return answer;
}

// `items`: JSON texts.
Answer list_answer(const std::string& next, const std::vector<std::string>& items);

}  // namespace sluice::server::admin
