// Names that one process of a machine holds at a time.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "base/files.h"

namespace approx {

// A name that the kernel gives to one socket at a time (abstract, of the network namespace): no
// file that another user could make first, remove or forbid, and free when its process has ended.
class MachineName {
 public:
  // "approxtrain-WHAT", with a text behind it where APPROXTRAIN_TIMING_LOCK names a part of the
  // machine that shares nothing with the others.
  explicit MachineName(const std::string& what);

  // The name is held as long as the descriptor lives; an empty one where somebody else has it.
  // Throws Error(kInternal) where there are no such sockets.
  Descriptor hold() const;

  // "process 1234 of user 1000", of whoever holds it.
  std::string holder() const;

 private:
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }

  sockaddr_un address_{.sun_family = AF_UNIX, .sun_path = {}};
  socklen_t size_ = 0;
};

}  // namespace approx
