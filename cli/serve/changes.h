// Who waits for changes of a store, and tells them.
#pragma once

#include <memory>

#include "cli/serve/http.h"

namespace approx {

// Made by one thread, listened to by others.
class Changes {
 public:
  static constexpr int kMostListeners = 16;

  Changes();

  // Events from now on: "change" for each tell() or several, "end" as the last. Null where there
  // are kMostListeners streams already. A stream may outlive this object.
  std::shared_ptr<EventStream> open();

  int listeners() const;  // streams that are open

  void tell();  // something has changed
  void end();   // ends all streams

 private:
  struct State;
  class Stream;
  std::shared_ptr<State> state_;
};

}  // namespace approx
