/* SPDX-License-Identifier: BSD-3-Clause */
/* The floor of plugin_call_bench. */
int bare_call(void* argument) { return argument == (void*)1; }
