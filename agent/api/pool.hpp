// Objects that own themselves while they are on their way; in between they wait here, their memory kept.
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
  // One that waits, or a new one made of `arguments`. It is given back when its work is done.
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
