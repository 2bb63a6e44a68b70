// Lists: pages with a cursor.
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

// From `limit` and `cursor` of the query. Refuses what is no page.
store::Page read_page(const Call& call);

// An opaque text that names the place behind an object.
std::string cursor_behind(std::string_view tenant_id, std::string_view id);

// Takes away what is beyond the page; the cursor of the next one, "" where there is none.
std::string cut_page(std::vector<store::StoredObject>& found, const store::Page& page);

// 400 for a cursor that is none of ours.
[[noreturn]] void refuse_cursor();

// 400 for a value of a filter that nothing can have: it is a slip of the caller's, and an empty list would hide it.
void check_choice(std::string_view parameter, std::string_view value, std::span<const std::string_view> choices);
inline constexpr std::array<std::string_view, 3> kModeChoices{"enforce", "shadow", "off"};

// The members "items" and "next" of a list. `write_items` writes the items, `next` is a cursor or "".
template <class WriteItems>
void write_list(json::Writer& out, const std::string& next, WriteItems write_items) {
  out.key("items");
  out.begin_list();
  write_items(out);
  out.end_list();
  next.empty() ? out.null_field("next") : out.field("next", next);
}

// {"items":[…],"next":…}
template <class WriteItems>
Answer list_answer(const std::string& next, WriteItems write_items) {
  Answer answer;
  answer.object = open_object();
  write_list(*answer.object, next, write_items);
  return answer;
}

// As list_answer(), of items that are JSON texts.
Answer list_answer(const std::string& next, const std::vector<std::string>& items);

}  // namespace sluice::server::admin
