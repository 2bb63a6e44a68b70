// Reuses objects with their memory. The pool owns idle objects. A taken object owns itself until it calls give_back().
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace sluice {

template <class T>
class Pool {
 public:
  // `arguments` are used only if a new object is constructed.
  template <class... Arguments>
  T& take(Arguments&&... arguments) {
    if (idle_.empty()) {
      if (idle_.capacity() <= made_) idle_.reserve(2 * made_ + 1);  // so that give_back() never allocates
      T* made = new T(std::forward<Arguments>(arguments)...);
      ++made_;
      return *made;
    }
    T* taken = idle_.back().release();
    idle_.pop_back();
    return *taken;
  }
  void give_back(T& object) noexcept { idle_.emplace_back(&object); }

 private:
  std::vector<std::unique_ptr<T>> idle_;
  std::size_t made_ = 0;
};

}  // namespace sluice
