// Apart from the engine: each commit builds it anew.
#include "core/engine/engine.h"
#include "generated/build_info.h"

extern "C" const char* approxtrain_source() { return APPROX_SOURCE; }
