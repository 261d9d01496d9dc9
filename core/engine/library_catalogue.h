// The methods registered in this library, as a catalogue.
#pragma once

#include "core/config/catalogue.h"

namespace approx {

Catalogue library_methods();

}  // namespace approx
