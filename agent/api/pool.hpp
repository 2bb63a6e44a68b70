// Reuses objects with their memory. The pool owns idle objects. A taken object owns itself until it calls give_back().
//
// Thread: one worker's.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace sluice::agent::api {

template <class T>
class Pool {
 public:
  // `arguments` are used only if a new object is constructed.
  template <class... Arguments>
  T& take(Arguments&&... arguments) {
    if (idle_.empty()) return *new T(std::forward<Arguments>(arguments)...);
    T* taken = idle_.back().release();
    idle_.pop_back();
    return *taken;
  }
  void give_back(T& object) { idle_.emplace_back(&object); }

 private:
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace sluice::agent::api
