/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

/* A vendor's library as small as it gets; VENDOR_ANSWER tells the builds apart. */
#ifdef VENDOR_LACKS
int vendor_other(void);
int vendor_other(void) { return 0; }
#else
int vendor_answer(void);
int vendor_add(int a, int b);
int vendor_answer(void) { return VENDOR_ANSWER; }
int vendor_add(int a, int b) { return a + b; }
#endif

__attribute__((constructor)) static void note_load(void) { setenv("HAL_TEST_VENDOR_RAN", "1", 1); }
