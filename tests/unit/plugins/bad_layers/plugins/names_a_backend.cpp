// SPDX-License-Identifier: BSD-3-Clause
// Input of the layering test: never compiled.
#include "backends/elan/backend.h"
#include "hal/types.h"
