// A decoder of libjpeg-turbo for a single file. The library keeps the tables of a file and uses
// them for the next file that has none of its own. With a shared decoder a damaged file would look
// different after another file. Making a decoder takes microseconds.
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
  const char* problem() const { return tjGetErrorStr2(handle_); }  // of the last failed call

 private:
  tjhandle handle_;
};

}  // namespace approx
