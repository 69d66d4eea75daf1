// SPDX-License-Identifier: BSD-3-Clause
// Input of the layering test: never compiled.
#include "backends/linux/pgid.h"
#  include "plugins/guard.h"
