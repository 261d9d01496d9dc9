// A decoder of libjpeg-turbo for one file and no other: libjpeg keeps the tables of a file and
// takes them for the next that has none of its own, so that what a damaged file looks like would
// depend on the file before it. Making one takes microseconds.
#pragma once

#include <turbojpeg.h>

#include "base/error.h"

namespace approx {

class JpegHandle {
 public:
  JpegHandle() : handle_(tjInitDecompress()) {
    if (handle_ == nullptr)
      throw Error(ErrorKind::kInternal, "libjpeg-turbo cannot be initialised");
  }
  ~JpegHandle() { tjDestroy(handle_); }
  JpegHandle(const JpegHandle&) = delete;
  JpegHandle& operator=(const JpegHandle&) = delete;

  tjhandle get() const { return handle_; }
  const char* problem() const { return tjGetErrorStr2(handle_); }  // of the last call that failed

 private:
  tjhandle handle_;
};

}  // namespace approx
