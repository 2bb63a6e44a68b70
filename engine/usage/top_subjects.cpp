#include "engine/usage/top_subjects.hpp"

#include <algorithm>
#include <bit>

#include "common/base/keyed_hash.hpp"

namespace sluice::usage {
namespace {

std::uint64_t hash_of(const SubjectName& name) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
  std::uint64_t out = hash_text(name.subject);
  out = (out ^ hash_text(name.policy)) * kOdd;
  out = (out ^ hash_text(name.tenant) ^ (name.show_subject ? 1U : 0U)) * kOdd;
  return out ^ (out >> 32);
}

}  // namespace

TopSubjects::TopSubjects(std::size_t capacity)
    : capacity_(std::min<std::size_t>(capacity, 30'000)), heads_(std::bit_ceil(2 * capacity_), kNone) {
  heap_.reserve(capacity_);
}

void TopSubjects::clear() {
  used_ = 0;
  heap_.clear();
  std::ranges::fill(heads_, kNone);
}

void TopSubjects::add(const SubjectName& name) {
  const std::uint64_t hash = hash_of(name);
  if (const Index found = find(name, hash); found != kNone) {
    ++entries_[found].count;
    return sift_down(entries_[found].heap_at);
  }
  if (used_ < capacity_) {
    const auto index = static_cast<Index>(used_++);
    if (entries_.size() < used_) entries_.emplace_back();
    name_entry(index, name, hash);
    entries_[index].count = 1;
    entries_[index].error = 0;
    heap_.push_back(index);
    return sift_up(heap_.size() - 1);
  }
  // The subject with the smallest count makes room. The new subject takes over that count (Space-Saving algorithm).
  const Index index = heap_.front();
  unlink(index);
  name_entry(index, name, hash);
  entries_[index].error = entries_[index].count++;
  sift_down(0);
}

TopSubjects::Index TopSubjects::find(const SubjectName& name, std::uint64_t hash) {
  Index index = head_of(hash);
  while (index != kNone && (entries_[index].hash != hash || entries_[index].name() != name)) {
    index = entries_[index].next;
  }
  return index;
}

void TopSubjects::unlink(Index index) {
  Index* from = &head_of(entries_[index].hash);
  while (*from != index) from = &entries_[*from].next;
  *from = entries_[index].next;
}

void TopSubjects::name_entry(Index index, const SubjectName& name, std::uint64_t hash) {
  Entry& entry = entries_[index];
  entry.tenant = name.tenant;
  entry.policy = name.policy;
  entry.subject = name.subject;
  entry.show_subject = name.show_subject;
  entry.hash = hash;
  Index& head = head_of(hash);
  entry.next = head;
  head = index;
}

void TopSubjects::put(std::size_t heap_at, Index index) {
  heap_[heap_at] = index;
  entries_[index].heap_at = static_cast<Index>(heap_at);
}

void TopSubjects::sift_up(std::size_t at) {
  const Index index = heap_[at];
  while (at > 0 && entries_[heap_[(at - 1) / 2]].count > entries_[index].count) {
    put(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  put(at, index);
}

void TopSubjects::sift_down(std::size_t at) {
  const Index index = heap_[at];
  for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && entries_[heap_[child + 1]].count < entries_[heap_[child]].count) ++child;
    if (entries_[heap_[child]].count >= entries_[index].count) break;
    put(at, heap_[child]);
    at = child;
  }
  put(at, index);
}

}  // namespace sluice::usage
