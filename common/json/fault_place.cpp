#include "common/json/fault_place.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/text_position.hpp"
#include "common/json/pointer.hpp"
#include "common/json/scan.hpp"
#include "common/json/tree.hpp"

namespace sluice::json {
namespace {

// A value that a fault points to, or an object or list around such a value.
struct Wanted {
  Wanted* parent = nullptr;
  std::map<std::string, Wanted*, std::less<>> members;  // by member name or, in a list, by index
  TextPosition position;                                // line 0: not found yet
};

class WantedTree {
 public:
  WantedTree() { nodes_.emplace_back(); }

  Wanted& root() { return nodes_.front(); }
  std::size_t size() const { return nodes_.size(); }

  Wanted* add(std::string_view pointer) {
    Wanted* at = &root();
    while (pointer.starts_with('/')) {
      pointer.remove_prefix(1);
      const std::string_view token = pointer.substr(0, pointer.find('/'));
      pointer.remove_prefix(token.size());
      at = member(*at, unescaped_step(token));
    }
    return at;
  }

  // Values that were not found get the position of their parent.
  void fill_in_parents() {
    for (Wanted& node : nodes_) {  // parents stand before their members
      if (node.position.line == 0 && node.parent != nullptr) node.position = node.parent->position;
    }
  }

 private:
  Wanted* member(Wanted& of, std::string name) {
    const auto [found, is_new] = of.members.try_emplace(std::move(name), nullptr);
    if (is_new) {
      found->second = &nodes_.emplace_back();
      found->second->parent = &of;
    }
    return found->second;
  }

  std::deque<Wanted> nodes_;
};

// Walks through the text once.
class PointerSearch {
 public:
  PointerSearch(std::string_view text, WantedTree& wanted) : text_(text), counter_(text), missing_(wanted.size()) {
    skip_space();
    enter(wanted.root());
    while (!open_.empty() && missing_ > 0) {
      skip_space();
      if (at_end()) return;
      step();
    }
  }

 private:
  struct Open {
    Wanted* wanted;
    bool is_list;
    // The rest is for lists only.
    std::vector<std::pair<std::size_t, Wanted*>> items;  // wanted items by ascending index
    std::size_t next_item = 0;                           // position in `items`
    std::size_t index = 0;                               // index of the next item in the text
  };

  void step() {
    const char c = text_[at_];
    if (c == ',') {
      ++at_;
    } else if (c == '}' || c == ']') {
      ++at_;
      open_.pop_back();
    } else {
      Wanted* const wanted = open_.back().is_list ? next_item() : next_member();
      skip_space();
      // If the position is set already, the name is a duplicate: the first member counts.
      if (wanted != nullptr && wanted->position.line == 0) {
        enter(*wanted);
      } else {
        skip_value();
      }
    }
  }

  void enter(Wanted& wanted) {
    wanted.position = counter_.at(at_);
    --missing_;
    if (at_end() || wanted.members.empty() || (text_[at_] != '{' && text_[at_] != '[')) return skip_value();
    Open& open = open_.emplace_back(&wanted, text_[at_] == '[');
    ++at_;
    if (!open.is_list) return;
    for (const auto& [name, item] : wanted.members) {
      std::size_t index = 0;
      const char* const end = name.data() + name.size();
      const auto [after, code] = std::from_chars(name.data(), end, index);
      const bool canonical = name == "0" || !name.starts_with('0');
      if (code == std::errc{} && after == end && canonical) open.items.emplace_back(index, item);
    }
    std::ranges::sort(open.items);
  }

  Wanted* next_item() {
    Open& list = open_.back();
    const std::size_t index = list.index++;
    if (list.next_item == list.items.size() || list.items[list.next_item].first != index) return nullptr;
    return list.items[list.next_item++].second;
  }

  Wanted* next_member() {
    const std::size_t begin = at_;
    if (text_[at_] != '"') return stop_at_invalid_json();
    at_ = std::min(end_of_string(text_, at_), text_.size());
    const std::string_view quoted = text_.substr(begin, at_ - begin);
    skip_space();
    if (at_end() || text_[at_] != ':') return stop_at_invalid_json();
    ++at_;
    const auto& members = open_.back().wanted->members;
    const auto found = members.find(unquoted(quoted));
    return found == members.end() ? nullptr : found->second;
  }

  std::string_view unquoted(std::string_view name) {
    if (name.find('\\') == std::string_view::npos) return name.substr(1, name.size() - 2);
    Tree tree;
    const auto read = tree.parse(name);
    unescaped_ = read ? read->text() : std::string_view();
    return unescaped_;
  }

  void skip_value() {
    if (!at_end()) at_ = std::min(end_of_value(text_, at_), text_.size());
  }
  void skip_space() { at_ = json::skip_space(text_, at_); }

  bool at_end() const { return at_ >= text_.size(); }

  Wanted* stop_at_invalid_json() {
    at_ = text_.size();
    return nullptr;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  PositionCounter counter_;
  std::size_t missing_;
  std::vector<Open> open_;  // the objects and lists around at_, the innermost last
  std::string unescaped_;
};

}  // namespace

void locate_faults(std::string_view json_text, Faults& faults) {
  if (json_text.starts_with("\xEF\xBB\xBF")) json_text.remove_prefix(3);
  WantedTree wanted;
  std::vector<std::pair<Fault*, const Wanted*>> places;
  for (Fault& fault : faults) {
    if (fault.line == 0) places.emplace_back(&fault, wanted.add(fault.pointer));
  }
  if (places.empty()) return;
  PointerSearch(json_text, wanted);
  wanted.fill_in_parents();
  for (const auto& [fault, place] : places) {
    fault->line = place->position.line;
    fault->column = place->position.column;
  }
}

}  // namespace sluice::json
