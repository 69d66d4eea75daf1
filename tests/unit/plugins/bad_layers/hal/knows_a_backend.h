// SPDX-License-Identifier: BSD-3-Clause
// Input of the layering test: never compiled.
#include "hal/types.h"
#include "backends/elan/backend.h"
