// Who was throttled most, among any number of subjects, in bounded memory: the Space-Saving sketch (Metwally, Agrawal,
// El Abbadi: "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005).
//
// With room for m subjects and n calls of add(): every subject added more than n / m times is in it; what it says of
// one is at least the truth less n / m, and never more than the truth (`count` is the paper's estimate less its error).
//
// Thread safety: none; one at a time. Once it has been full it allocates no more, unless a text is longer than before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/policy.hpp"

namespace sluice::agent::usage {

// Whose calls are counted together. Views are copied.
struct SubjectName {
  std::string_view tenant;
  std::string_view policy;  // "" where a plan was called by its id
  std::string_view subject;
  bool named = false;  // told as it is, else hashed

  bool operator==(const SubjectName&) const = default;
};

class TopSubjects {
 public:
  // `capacity`: 1 to 30,000.
  explicit TopSubjects(std::size_t capacity);

  void add(const SubjectName& name);
  void clear();

  std::size_t size() const { return used_; }

  // Calls see(name, count) for each subject; count is the number of add() it certainly had, at least 1.
  template <class See>
  void each(See see) const {
    for (std::size_t i = 0; i < used_; ++i) see(entries_[i].name(), entries_[i].count - entries_[i].error);
  }

 private:
  using Index = std::uint16_t;
  static constexpr Index kNone = 0xFFFF;

  struct Entry {
    std::string tenant, policy, subject;
    bool named = false;
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
    std::uint64_t error = 0;  // at most so much of the count is others'
    Index next = kNone;       // with the same head
    Index heap_at = 0;

    SubjectName name() const { return {tenant, policy, subject, named}; }
  };

  Index& head_of(std::uint64_t hash) { return heads_[hash & (heads_.size() - 1)]; }
  Index find(const SubjectName& name, std::uint64_t hash);
  void unlink(Index index);
  void name_entry(Index index, const SubjectName& name, std::uint64_t hash);
  void put(std::size_t heap_at, Index index);
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);

  const std::size_t capacity_;
  std::size_t used_ = 0;
  std::vector<Entry> entries_;  // the first used_ count; the others keep their memory
  std::vector<Index> heads_;    // a power of two of them
  std::vector<Index> heap_;     // the smallest count first
};

}  // namespace sluice::agent::usage
