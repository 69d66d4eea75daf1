// SPDX-License-Identifier: BSD-3-Clause
#include "host/site_conf.h"
#include "tests/fuzz/fuzz_target.h"

using hal::fuzz::require;
using hal::host::SiteConf;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto conf = SiteConf::parse(hal::fuzz::text(data, size), "slurm.conf");
  if (!conf) {
    require(conf.error().detail.starts_with("slurm.conf"), "an error names its file");
    return 0;
  }
  for (const auto& table : hal::host::families()) {
    const std::string& type = conf->type_of(table.family);
    require(type.starts_with(std::string(table.major) + "/"), "a type is of its family");
    require(type.find('/') == type.rfind('/') && type.find('.') == std::string::npos,
            "a type cannot lead out of PluginDir");
  }
  for (const std::string& path :
       {conf->plugin_dir(), conf->state_save_location(), conf->hal_conf()}) {
    require(path.empty() || path.front() == '/', "a path is absolute");
    require(path.find_first_of(std::string_view("\0\n\r", 3)) == std::string::npos,
            "a path is one line of text");
  }
  require(conf->warnings().size() <= 64, "warnings are bounded");
  for (const std::string& warning : conf->warnings()) {
    require(warning.starts_with("slurm.conf:"), "a warning names its place");
  }
  return 0;
}
