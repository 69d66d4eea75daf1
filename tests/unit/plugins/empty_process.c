/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a plugin with immediate binding in a process that offers it nothing but the C library, runs
   init, fini and init again, closes and opens it once more. Exit code 0, or the failing step. */
#include <dlfcn.h>
#include <stdio.h>

static int run(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*init)(void) = (int (*)(void))dlsym(plugin, "init");
  int (*fini)(void) = (int (*)(void))dlsym(plugin, "fini");
  if (init == NULL || fini == NULL) return 2;
  if (init() != 0) return 3;
  fini();
  if (init() != 0) return 4;
  fini();
  if (dlclose(plugin) != 0) return 5;
  return dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL ? 6 : 0;
}

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  const int first = run(argv[1]);
  return first != 0 ? first : run(argv[1]);
}
