// Names that only one process of a machine can hold at a time.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "base/files.h"

namespace approx {

// A name that the kernel gives to one socket at a time (abstract, of the network namespace). It is
// not a file, so no other user can make it first, remove it or forbid it. It is free when its
// process has ended.
class MachineName {
 public:
  // The name is "approxtrain-WHAT". If APPROXTRAIN_TIMING_LOCK names a part of the machine that
  // shares nothing with the others, that text is appended.
  explicit MachineName(const std::string& what);

  // Holds the name as long as the descriptor lives; the descriptor is empty where somebody else
  // holds it. Throws Error(kInternal) where there are no such sockets.
  Descriptor hold() const;

  // The holder as text: "process 1234 of user 1000".
  std::string holder() const;

 private:
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }

  sockaddr_un address_{.sun_family = AF_UNIX, .sun_path = {}};
  socklen_t size_ = 0;
};

}  // namespace approx
