// What a handler implements that must know when the client of a request leaves before it is answered.
//
// Thread safety: none; it belongs to the server's thread.
#pragma once

namespace sluice::http {

class PeerWatcher {
 public:
  // The client has closed its side of the connection, or the connection is closed. Called at most once, and not after
  // the answer. The client may still read an answer, if it closed only its side.
  virtual void on_peer_left() = 0;

 protected:
  ~PeerWatcher() = default;
};

}  // namespace sluice::http
