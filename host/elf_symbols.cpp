// SPDX-License-Identifier: BSD-3-Clause
#include "host/elf_symbols.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <sys/stat.h>
#include <type_traits>
#include <unistd.h>

namespace hal::host {
namespace {

constexpr std::size_t kMaxConstant = 256;
constexpr std::size_t kMaxSymbolName = 4096;
constexpr std::size_t kMaxNeeded = 1024;

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#elif defined(__powerpc64__)
constexpr Elf64_Half kMachine = EM_PPC64;
#elif defined(__s390x__)
constexpr Elf64_Half kMachine = EM_S390;
#elif defined(__riscv)
constexpr Elf64_Half kMachine = EM_RISCV;
#else
#error "name this machine's ELF number here"
#endif

constexpr unsigned char kByteOrder =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

Failure corrupt(const char* part) {
  return fail(Errc::corrupt, EBADMSG, std::string("not a sound shared object: ") + part);
}

}  // namespace

/// Reads one file; nothing in it is believed before it is checked.
class ElfReader {
 public:
  explicit ElfReader(std::span<const std::byte> file) : file_(file) {}

  Result<ElfSymbols> run() {
    for (Result<> (ElfReader::*const step)() :
         {&ElfReader::take_header, &ElfReader::take_segments, &ElfReader::take_dynamic,
          &ElfReader::take_names, &ElfReader::take_symbols}) {
      if (auto done = (this->*step)(); !done) return propagate(std::move(done));
    }
    return std::move(out_);
  }

 private:
  struct Segment {
    std::uint64_t address;
    std::uint64_t offset;
    std::uint64_t size;
  };

  /// A copy of the T at `offset`, if all of it lies in the file.
  template <class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }

  /// File offset of a linked address, if a loaded segment's file part holds it.
  [[nodiscard]] std::optional<Segment> locate(std::uint64_t address) const {
    for (const Segment& segment : segments_) {
      if (address < segment.address || address - segment.address >= segment.size) continue;
      const std::uint64_t inside = address - segment.address;
      return Segment{address, segment.offset + inside, segment.size - inside};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> name_at(std::uint64_t index) const {
    if (index >= names_.size) return std::nullopt;
    const auto* const begin = reinterpret_cast<const char*>(file_.data() + names_.offset + index);
    const std::size_t room = std::min<std::uint64_t>(names_.size - index, kMaxSymbolName);
    const std::size_t size = ::strnlen(begin, room);
    if (size == room) return std::nullopt;
    return std::string(begin, size);
  }

  Result<> take_header() {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header) return corrupt("shorter than an ELF header");
    header_ = *header;
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return corrupt("no ELF magic");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != kByteOrder ||
        header_.e_machine != kMachine) {
      return fail(Errc::unsupported, ENOEXEC, "shared object of another kind of machine");
    }
    if (header_.e_type != ET_DYN) return corrupt("not a shared object");
    if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0) {
      return corrupt("no program headers");
    }
    return {};
  }

  Result<> take_segments() {
    for (std::size_t i = 0; i < header_.e_phnum; ++i) {
      const std::uint64_t step = i * sizeof(Elf64_Phdr);
      if (header_.e_phoff > file_.size()) return corrupt("program headers outside the file");
      const auto program = at<Elf64_Phdr>(header_.e_phoff + step);
      if (!program) return corrupt("program headers outside the file");
      if (program->p_type != PT_LOAD && program->p_type != PT_DYNAMIC) continue;
      if (program->p_offset > file_.size() ||
          program->p_filesz > file_.size() - program->p_offset) {
        return corrupt("segment outside the file");
      }
      const Segment segment{program->p_vaddr, program->p_offset, program->p_filesz};
      if (program->p_type == PT_DYNAMIC) {
        dynamic_ = segment;
      } else {
        segments_.push_back(segment);
      }
    }
    if (dynamic_.size == 0) return corrupt("no dynamic section");
    return {};
  }

  Result<> take_dynamic() {
    for (std::uint64_t at_byte = 0; dynamic_.size - at_byte >= sizeof(Elf64_Dyn);
         at_byte += sizeof(Elf64_Dyn)) {
      const auto entry = at<Elf64_Dyn>(dynamic_.offset + at_byte);
      if (!entry || entry->d_tag == DT_NULL) break;
      const std::uint64_t value = entry->d_un.d_val;
      switch (entry->d_tag) {
        case DT_NEEDED:
          if (needed_.size() == kMaxNeeded) return corrupt("too many needed libraries");
          needed_.push_back(value);
          break;
        case DT_SONAME:
          soname_ = value;
          break;
        case DT_STRTAB:
          names_.address = value;
          break;
        case DT_STRSZ:
          names_.size = value;
          break;
        case DT_SYMTAB:
          symbol_address_ = value;
          break;
        case DT_GNU_HASH:
          gnu_hash_ = value;
          break;
        case DT_HASH:
          sysv_hash_ = value;
          break;
        default:
          break;
      }
    }
    return {};
  }

  Result<> take_names() {
    const auto table = locate(names_.address);
    if (!table || names_.size == 0 || names_.size > table->size) return corrupt("name table");
    names_.offset = table->offset;
    for (const std::uint64_t index : needed_) {
      auto name = name_at(index);
      if (!name) return corrupt("name of a needed library");
      out_.needed_.push_back(std::move(*name));
    }
    if (soname_) {
      auto name = name_at(*soname_);
      if (!name) return corrupt("soname");
      out_.soname_ = std::move(*name);
    }
    return {};
  }

  Result<> take_symbols() {
    const auto table = locate(symbol_address_);
    if (!table) return corrupt("symbol table");
    const auto count = symbol_count();
    if (!count) return corrupt("symbol hash table");
    if (*count > ElfSymbols::kMaxSymbols || *count > table->size / sizeof(Elf64_Sym)) {
      return corrupt("symbol table size");
    }
    out_.symbols_.reserve(*count);
    for (std::uint64_t i = 1; i < *count; ++i) {
      const auto entry = at<Elf64_Sym>(table->offset + i * sizeof(Elf64_Sym));
      if (!entry) return corrupt("symbol table");
      auto name = name_at(entry->st_name);
      if (!name) return corrupt("symbol name");
      const unsigned binding = ELF64_ST_BIND(entry->st_info);
      const unsigned type = ELF64_ST_TYPE(entry->st_info);
      if (name->empty() || binding == STB_LOCAL) continue;
      ElfSymbol symbol{.name = std::move(*name),
                       .value = entry->st_value,
                       .size = entry->st_size,
                       .defined = entry->st_shndx != SHN_UNDEF,
                       .function = type == STT_FUNC || type == STT_GNU_IFUNC,
                       .weak = binding == STB_WEAK};
      if (symbol.defined && type == STT_OBJECT && symbol.name.starts_with("plugin_")) {
        keep_constant(symbol);
      }
      out_.symbols_.push_back(std::move(symbol));
    }
    return {};
  }

  void keep_constant(const ElfSymbol& symbol) {
    const auto place = locate(symbol.value);
    if (!place) return;
    const std::uint64_t size = std::min({symbol.size, place->size, std::uint64_t{kMaxConstant}});
    out_.constants_.emplace_back(
        symbol.name, std::string(reinterpret_cast<const char*>(file_.data() + place->offset),
                                 static_cast<std::size_t>(size)));
  }

  [[nodiscard]] std::optional<std::uint64_t> symbol_count() const {
    if (gnu_hash_) return count_by_gnu_hash(*gnu_hash_);
    if (!sysv_hash_) return std::nullopt;
    const auto table = locate(*sysv_hash_);
    if (!table) return std::nullopt;
    const auto chains = at<std::uint32_t>(table->offset + 4);
    return chains ? std::optional<std::uint64_t>(*chains) : std::nullopt;
  }

  /// The last symbol is the last one of the chain that starts highest.
  [[nodiscard]] std::optional<std::uint64_t> count_by_gnu_hash(std::uint64_t address) const {
    const auto table = locate(address);
    if (!table) return std::nullopt;
    const auto bucket_count = at<std::uint32_t>(table->offset);
    const auto first_hashed = at<std::uint32_t>(table->offset + 4);
    const auto bloom_words = at<std::uint32_t>(table->offset + 8);
    if (!bucket_count || !first_hashed || !bloom_words) return std::nullopt;
    const std::uint64_t buckets = table->offset + 16 + std::uint64_t{*bloom_words} * 8;
    const std::uint64_t chains = buckets + std::uint64_t{*bucket_count} * 4;
    if (chains > file_.size()) return std::nullopt;
    std::uint32_t highest = 0;
    for (std::uint32_t i = 0; i < *bucket_count; ++i) {
      const auto bucket = at<std::uint32_t>(buckets + std::uint64_t{i} * 4);
      if (!bucket) return std::nullopt;
      highest = std::max(highest, *bucket);
    }
    if (highest < *first_hashed) return *first_hashed;
    for (std::uint64_t index = highest;; ++index) {
      const auto hash = at<std::uint32_t>(chains + (index - *first_hashed) * 4);
      if (!hash) return std::nullopt;
      if ((*hash & 1U) != 0) return index + 1;
    }
  }

  std::span<const std::byte> file_;
  ElfSymbols out_;
  Elf64_Ehdr header_{};
  std::vector<Segment> segments_;
  Segment dynamic_{};
  Segment names_{};
  std::vector<std::uint64_t> needed_;
  std::optional<std::uint64_t> soname_;
  std::optional<std::uint64_t> gnu_hash_;
  std::optional<std::uint64_t> sysv_hash_;
  std::uint64_t symbol_address_ = 0;
};

Result<ElfSymbols> ElfSymbols::parse(std::span<const std::byte> file) {
  return ElfReader(file).run();
}

Result<ElfSymbols> ElfSymbols::read(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail_errno(errno, "fstat");
  if (!S_ISREG(info.st_mode) || info.st_size < 0 ||
      static_cast<std::uint64_t>(info.st_size) > kMaxFile) {
    return corrupt("not a regular file of at most 256 MiB");
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return corrupt("empty file");
  // A copy, not a mapping: a file that is cut short meanwhile must not end the process.
  std::vector<std::byte> content(size);
  std::size_t got = 0;
  while (got < size) {
    const ssize_t part = ::pread(fd, content.data() + got, size - got, static_cast<off_t>(got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return fail_errno(errno, "read");
    if (part == 0) break;
    got += static_cast<std::size_t>(part);
  }
  return parse(std::span(content).first(got));
}

const ElfSymbol* ElfSymbols::find(std::string_view name) const noexcept {
  const auto found = std::find_if(symbols_.begin(), symbols_.end(), [&](const ElfSymbol& symbol) {
    return symbol.defined && symbol.name == name;
  });
  return found == symbols_.end() ? nullptr : &*found;
}

std::optional<std::string> ElfSymbols::text_of(std::string_view name) const {
  for (const auto& [constant, bytes] : constants_) {
    if (constant == name) return bytes.substr(0, bytes.find('\0'));
  }
  return std::nullopt;
}

std::optional<std::uint32_t> ElfSymbols::number_of(std::string_view name) const {
  for (const auto& [constant, bytes] : constants_) {
    if (constant != name || bytes.size() != sizeof(std::uint32_t)) continue;
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  return std::nullopt;
}

}  // namespace hal::host
