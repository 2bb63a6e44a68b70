// Reuses objects with their memory. An object owns itself while it works on a request. The pool owns the idle objects.
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
  // Returns an idle object, or a new one constructed from `arguments`. The object calls give_back() when its work is
  // done.
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
