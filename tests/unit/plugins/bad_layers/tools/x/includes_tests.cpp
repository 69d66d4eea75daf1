// SPDX-License-Identifier: BSD-3-Clause
// Input of the layering test: never compiled.
#include "tests/mocks/mock_state.h"
#include "../../hal/types.h"
