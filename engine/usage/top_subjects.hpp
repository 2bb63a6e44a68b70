// Finds the subjects that were throttled most often, or the resources that were left unmatched most often, in bounded
// memory; the comments here say "subject" for both. The algorithm is the Space-Saving sketch (Metwally, Agrawal, El
// Abbadi: "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005).
//
// With room for m subjects and n calls of add(), every subject added more than n / m times is kept. Its reported count
// is at most the true count, and at least the true count - n / m.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/policy.hpp"

namespace sluice::usage {

struct SubjectName {
  std::string_view tenant;
  std::string_view policy;  // "" if the check named a plan_id
  std::string_view subject;
  bool show_subject = false;  // the report shows the subject itself, not its hash

  bool operator==(const SubjectName&) const = default;
};

class TopSubjects {
 public:
  // `capacity`: 1 to 30,000.
  explicit TopSubjects(std::size_t capacity);

  void add(const SubjectName& name);  // copies the texts
  void clear();

  std::size_t size() const { return used_; }

  // Calls visit(name, count) for each kept subject. `count` is at least 1.
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t i = 0; i < used_; ++i) visit(entries_[i].name(), entries_[i].count - entries_[i].error);
  }

 private:
  using Index = std::uint16_t;
  static constexpr Index kNone = 0xFFFF;

  struct Entry {
    std::string tenant, policy, subject;
    bool show_subject = false;
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
    std::uint64_t error = 0;  // up to this much of `count` belongs to replaced subjects
    Index next = kNone;       // in the hash chain
    Index heap_at = 0;

    SubjectName name() const { return {tenant, policy, subject, show_subject}; }
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
  std::vector<Entry> entries_;  // the first used_ are in use
  std::vector<Index> heads_;    // hash chains; the size is a power of two
  std::vector<Index> heap_;     // min-heap by count
};

}  // namespace sluice::usage
