// SPDX-License-Identifier: BSD-3-Clause
#include "host/elf_symbols.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gnu/libc-version.h>

#include "hal/vendor_library.h"
#include "tests/unit/host/plugin_fixture.h"

namespace hal::host {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<std::byte> bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

const std::vector<std::byte>& good() {
  static const auto& bytes =
      *new std::vector<std::byte>(bytes_of(LOADER_FIXTURE_DIR "/core_spec_good.so"));
  return bytes;
}

template <class T>
void put(std::vector<std::byte>& file, std::size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
}

TEST(ElfSymbolsTest, ReadsIdentityExportsAndNeeds) {
  const auto symbols = ElfSymbols::parse(good());

  ASSERT_TRUE(symbols) << symbols.error().detail;
  EXPECT_EQ(symbols->text_of("plugin_type"), "core_spec/good");
  EXPECT_EQ(symbols->text_of("plugin_name"), "good");
  EXPECT_EQ(symbols->number_of("plugin_version"), 100U);
  EXPECT_EQ(symbols->text_of("plugin_id"), std::nullopt);
  ASSERT_NE(symbols->find("core_spec_p_set"), nullptr);
  EXPECT_TRUE(symbols->find("core_spec_p_set")->function);
  EXPECT_EQ(symbols->find("mark"), nullptr) << "a static function is not exported";
  EXPECT_EQ(symbols->find("getenv"), nullptr) << "undefined here";
  EXPECT_THAT(symbols->needed(), Contains(HasSubstr("libc.so")));
}

TEST(ElfSymbolsTest, ListsUndefinedSymbols) {
  const auto symbols = ElfSymbols::parse(bytes_of(LOADER_FIXTURE_DIR "/core_spec_undefined.so"));

  ASSERT_TRUE(symbols) << symbols.error().detail;
  EXPECT_TRUE(std::any_of(symbols->symbols().begin(), symbols->symbols().end(),
                          [](const ElfSymbol& symbol) {
                            return symbol.name == "only_in_some_daemon" && !symbol.defined;
                          }));
}

TEST(ElfSymbolsTest, AgreesWithTheLoaderOnTheCLibrary) {
  Dl_info info{};
  ASSERT_NE(::dladdr(reinterpret_cast<const void*>(&::gnu_get_libc_version), &info), 0);
  const UniqueFd fd(::open(info.dli_fname, O_RDONLY | O_CLOEXEC));

  const auto symbols = ElfSymbols::read(fd.get());

  ASSERT_TRUE(symbols) << symbols.error().detail;
  EXPECT_GT(symbols->symbols().size(), 2000U);
  for (const char* name : {"fputs", "malloc", "getpid"}) {
    EXPECT_NE(symbols->find(name), nullptr) << name;
  }
}

TEST(ElfSymbolsTest, NoTruncationIsReadPastItsEnd) {
  for (std::size_t size = 0; size < good().size(); ++size) {
    // A vector of exactly that size: a checker sees any byte read behind it.
    const std::vector<std::byte> part(good().begin(),
                                      good().begin() + static_cast<std::ptrdiff_t>(size));
    const auto symbols = ElfSymbols::parse(part);
    if (symbols) {
      EXPECT_EQ(symbols->text_of("plugin_type"), "core_spec/good") << size;
    } else {
      EXPECT_EQ(symbols.error().kind, Errc::corrupt) << size;
    }
  }
}

TEST(ElfSymbolsTest, NoFlippedByteOfTheTablesIsBelieved) {
  const std::size_t reach = std::min<std::size_t>(good().size(), 16384);
  std::size_t sound = 0;
  for (std::size_t at = 0; at < reach; ++at) {
    for (const int value : {0x00, 0x7f, 0x80, 0xff}) {
      std::vector<std::byte> file = good();
      file[at] = static_cast<std::byte>(value);
      if (ElfSymbols::parse(file)) ++sound;
    }
  }
  EXPECT_GT(sound, 0U) << "bytes that nobody reads do no harm";
}

TEST(ElfSymbolsTest, RefusesWhatIsNoSharedObjectOfThisMachine) {
  std::vector<std::byte> file = good();
  put(file, offsetof(Elf64_Ehdr, e_machine), Elf64_Half{EM_68K});
  EXPECT_EQ(ElfSymbols::parse(file).error().kind, Errc::unsupported);

  file = good();
  put(file, EI_CLASS, static_cast<unsigned char>(ELFCLASS32));
  EXPECT_EQ(ElfSymbols::parse(file).error().kind, Errc::unsupported);

  file = good();
  put(file, offsetof(Elf64_Ehdr, e_type), Elf64_Half{ET_REL});
  EXPECT_EQ(ElfSymbols::parse(file).error().kind, Errc::corrupt);

  file = good();
  put(file, 0, 'X');
  EXPECT_EQ(ElfSymbols::parse(file).error().kind, Errc::corrupt);
}

TEST(ElfSymbolsTest, RefusesOffsetsThatWrapAround) {
  std::vector<std::byte> file = good();
  put(file, offsetof(Elf64_Ehdr, e_phoff), Elf64_Off{~std::uint64_t{0} - 8});

  EXPECT_EQ(ElfSymbols::parse(file).error().kind, Errc::corrupt);
}

TEST(ElfSymbolsTest, RefusesADescriptorThatIsNoFile) {
  const UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));

  EXPECT_EQ(ElfSymbols::read(fd.get()).error().kind, Errc::corrupt);
}

}  // namespace
}  // namespace hal::host
